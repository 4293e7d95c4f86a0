"""Runs an app: ``serve()`` in a program, ``python -m openenv_gym_server server.app:app`` in a shell."""

from __future__ import annotations

import argparse
import importlib.util
import os
import socket
import ssl
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym_server.config import ServerConfig, export_settings
from openenv_gym_server.local_server import LocalServer
from openenv_gym_server.pages import is_loopback
from openenv_gym_server.patience import patient_protocol

DEFAULT_APPLICATION = "server.app:app"
"""Where the app of an environment project is, unless its manifest says otherwise."""

_END_SECONDS = 20
"""How long the end waits for requests under way. Sockets are closed in less; who stops containers kills after 30."""

_MOST_WORKERS = 256

_NOT_STARTED = 3
"""The exit status of a server that never listened, which is uvicorn's own."""


class Tls(NamedTuple):
    """Files in PEM format, for https and wss.

    Attributes:
        certificate: The server's certificate, with those between it and the authority.
        key: Its private key, where it is not in the same file.
        client_authority: Whose clients are let in, by certificates of their own; None asks for none.
    """

    certificate: str | Path
    key: str | Path | None = None
    client_authority: str | Path | None = None


def serve(
    app: Any,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    fd: int | None = None,
    insecure: bool = False,
    debug: bool = False,
    tls: Tls | None = None,
    workers: int = 1,
) -> None:
    """Serves an app until the process is told to end.

    Args:
        app: What ``create_app`` made, or where to import it from, such as ``server.app:app``.
        host: The address to listen on.
        port: The port; 0 lets the kernel choose.
        fd: An open listening socket to use instead.
        insecure: Allow an address that others can reach without a token.
        debug: No deadlines, so that breakpoints work, and tracebacks are sent to clients.
        tls: Serves https and wss instead of http and ws.
        workers: How many processes share the sessions, each with as many as one server has.

    Raises:
        ConfigurationError: The address can be reached by others, and no token is set; or a file of ``tls`` is missing;
            or several workers cannot be had with an app that is no name, or with ``tls``.
    """
    if debug:
        export_settings({"OPENENV_GYM_DEBUG": "1"})
        if not isinstance(app, str):
            app.state.openenv_gym.contract.enter_debug()
    config = ServerConfig.from_environ()
    if not (is_loopback(host) or config.token or insecure):
        raise ConfigurationError(
            f"{host} can be reached by others and no token is set: everybody could drive the environment. "
            "Set OPENENV_GYM_TOKEN, listen on 127.0.0.1, or insist with insecure=True (--insecure)."
        )
    if fd is not None:
        _send_at_once(fd)
    options = uvicorn_options(config) | ({} if tls is None else _tls_options(tls))
    if workers == 1:
        _run(uvicorn.Config(app, host=host, port=port, fd=fd, workers=1, **options))
        return
    if workers < 1 or not isinstance(app, str) or tls is not None:
        raise ConfigurationError(
            f"{workers} workers cannot be had: at least 1, with an app that is named, such as server.app:app, and "
            "without TLS, which a proxy before them can end."
        )
    from openenv_gym_server.replicas.serving import serve_replicas

    address = uvicorn.Config(app, host=host, port=port, fd=fd, **options)
    serve_replicas(app, address, workers, patience=config.request_timeout, end_seconds=_END_SECONDS + 10)


def _run(config: uvicorn.Config) -> None:
    config.load_app()  # what is wrong with it is told before anything else
    server = LocalServer(config)
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(_NOT_STARTED)


def uvicorn_options(config: ServerConfig, *, keeps_alive: bool = True) -> dict[str, Any]:
    """How uvicorn is to serve, but for the address and TLS.

    Args:
        config: The server's settings.
        keeps_alive: A connection may bring several requests.
    """
    return {
        "ws_max_size": config.max_frame_bytes,
        # Compression costs more than loopback and local networks gain, and lets a small frame become a huge one.
        "ws_per_message_deflate": False,
        "http": patient_protocol(config.request_timeout, keeps_alive=keeps_alive),
        "timeout_graceful_shutdown": _END_SECONDS,
    }


def _tls_options(tls: Tls) -> dict[str, Any]:
    for path in tls:
        if path is not None and not Path(path).is_file():
            raise ConfigurationError(f"There is no file {path}.")
    options = {"ssl_certfile": str(tls.certificate), "ssl_keyfile": None if tls.key is None else str(tls.key)}
    if tls.client_authority is None:
        return options
    return options | {"ssl_ca_certs": str(tls.client_authority), "ssl_cert_reqs": ssl.CERT_REQUIRED}


def _send_at_once(fd: int) -> None:
    """Has connections of an open socket send small answers without delay, for which a server would have to make it."""
    with socket.socket(fileno=os.dup(fd)) as listener:
        if listener.family in (socket.AF_INET, socket.AF_INET6):
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it


def check_application(app: str, folder: Path) -> None:
    """Refuses an app that is not there, or that an installed package of the same name would be served for.

    Args:
        app: Where the app is, such as ``server.app:app``.
        folder: Where the command runs.

    Raises:
        ConfigurationError: The message says what to do.
    """
    module, _, attribute = app.partition(":")
    if not (module and attribute):
        raise ConfigurationError(f"{app!r} must be module:attribute, such as server.app:app.")
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None  # a package above it is missing
    here = folder.joinpath(*module.split("."))
    is_default = module == DEFAULT_APPLICATION.partition(":")[0]
    if found is None or (is_default and not here.with_suffix(".py").is_file()):
        # A checkout that is installed as editable has the server folder of a bundled project on Python's path.
        raise ConfigurationError(
            f"There is no module {module} here: {here.with_suffix('.py')} does not exist. "
            "Run this in an environment project's folder, or say where the app is."
        )
    if is_default and Path(found.origin or "").resolve() != (here.with_suffix(".py").resolve()):
        raise ConfigurationError(
            f"{module} is {found.origin}, and not this folder's. Run this in an environment project's folder; "
            "if it is one, give its server folder an __init__.py."
        )


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port: 0 to 65535.")
    return port


def _workers(text: str) -> int:
    workers = int(text)
    if not 1 <= workers <= _MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"{workers} workers cannot be: 1 to {_MOST_WORKERS}.")
    return workers


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line of ``serve``."""
    parser = argparse.ArgumentParser(prog="python -m openenv_gym_server", description="Serves an environment.")
    parser.add_argument("app", nargs="?", default=DEFAULT_APPLICATION, help="where the app is, such as server.app:app")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=_port, default=8000, help="0 lets the kernel choose")
    parser.add_argument("--fd", type=int, default=None, help="an open listening socket to use instead")
    parser.add_argument("--insecure", action="store_true", help="allow a public address without a token")
    parser.add_argument("--debug", action="store_true", help="no deadlines; tracebacks are sent to clients")
    parser.add_argument("--tls-certificate", metavar="FILE", help="serve https and wss with this certificate")
    parser.add_argument("--tls-key", metavar="FILE", help="its private key, where that is in a file of its own")
    parser.add_argument("--tls-client-authority", metavar="FILE", help="admit only clients with its certificates")
    parser.add_argument("--workers", type=_workers, default=1, metavar="N", help="processes that share the sessions")
    options = parser.parse_args(arguments)
    if options.tls_certificate is None and (options.tls_key or options.tls_client_authority):
        parser.error("--tls-key and --tls-client-authority need --tls-certificate")
    tls = Tls(options.tls_certificate, options.tls_key, options.tls_client_authority)
    try:
        check_application(options.app, Path.cwd())
        serve(
            options.app,
            host=options.host,
            port=options.port,
            fd=options.fd,
            insecure=options.insecure,
            debug=options.debug,
            tls=None if options.tls_certificate is None else tls,
            workers=options.workers,
        )
    except ConfigurationError as error:
        parser.error(error.message)
