"""Runs an app: ``serve()`` in a program, ``python -m openenv_gym_server server.app:app`` in a shell."""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Sequence
from typing import Any

import uvicorn
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym_server.config import ServerConfig, export_settings


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


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line of ``serve``."""
    parser = argparse.ArgumentParser(prog="python -m openenv_gym_server", description="Serves an environment.")
    parser.add_argument("app", nargs="?", default="server.app:app", help="where the app is, such as server.app:app")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 lets the kernel choose")
    parser.add_argument("--fd", type=int, default=None, help="an open listening socket to use instead")
    parser.add_argument("--insecure", action="store_true", help="allow a public address without a token")
    parser.add_argument("--debug", action="store_true", help="no deadlines; tracebacks are sent to clients")
    options = parser.parse_args(arguments)
    try:
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
