"""Runs an app: ``serve()`` in a program, ``python -m openenv_gym_server server.app:app`` in a shell."""

from __future__ import annotations

import argparse
import importlib.util
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvicorn
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym_server.config import ServerConfig, export_settings

DEFAULT_APPLICATION = "server.app:app"
"""Where the app of an environment project is, unless its manifest says otherwise."""


def serve(
    app: Any,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    fd: int | None = None,
    insecure: bool = False,
    debug: bool = False,
) -> None:
    """Serves an app until the process is told to end.

    Args:
        app: What ``create_app`` made, or where to import it from, such as ``server.app:app``.
        host: The address to listen on.
        port: The port; 0 lets the kernel choose.
        fd: An open listening socket to use instead.
        insecure: Allow an address that others can reach without a token.
        debug: No deadlines, so that breakpoints work, and tracebacks are sent to clients.

    Raises:
        ConfigurationError: The address can be reached by others, and no token is set.
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
    uvicorn.run(
        app,
        host=host,
        port=port,
        fd=fd,
        ws_max_size=config.max_frame_bytes,
        # Compression costs more than loopback and local networks gain, and lets a small frame become a huge one.
        ws_per_message_deflate=False,
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
    if found is None:
        raise ConfigurationError(
            f"There is no module {module} here: {here.with_suffix('.py')} does not exist. "
            "Run this in an environment project's folder, or say where the app is."
        )
    if module == DEFAULT_APPLICATION.partition(":")[0] and Path(found.origin or "").resolve() != (
        here.with_suffix(".py").resolve()
    ):
        raise ConfigurationError(
            f"{module} is {found.origin}, and not this folder's. Run this in an environment project's folder; "
            "if it is one, give its server folder an __init__.py."
        )


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port: 0 to 65535.")
    return port


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line of ``serve``."""
    parser = argparse.ArgumentParser(prog="python -m openenv_gym_server", description="Serves an environment.")
    parser.add_argument("app", nargs="?", default=DEFAULT_APPLICATION, help="where the app is, such as server.app:app")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=_port, default=8000, help="0 lets the kernel choose")
    parser.add_argument("--fd", type=int, default=None, help="an open listening socket to use instead")
    parser.add_argument("--insecure", action="store_true", help="allow a public address without a token")
    parser.add_argument("--debug", action="store_true", help="no deadlines; tracebacks are sent to clients")
    options = parser.parse_args(arguments)
    try:
        check_application(options.app, Path.cwd())
        serve(
            options.app,
            host=options.host,
            port=options.port,
            fd=options.fd,
            insecure=options.insecure,
            debug=options.debug,
        )
    except ConfigurationError as error:
        parser.error(error.message)
