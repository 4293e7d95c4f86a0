"""Runs several worker processes behind one port."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys

import uvicorn

from openenv_gym_server.replicas.replica import Replica
from openenv_gym_server.replicas.router import Router, StartFailed

logger = logging.getLogger("uvicorn.error")

_START_FAILED = 3
"""Uvicorn's exit code for the same."""


def serve_replicas(app: str, config: uvicorn.Config, workers: int, *, patience: float, end_seconds: float) -> None:
    """Serves until the process is told to end.

    Args:
        app: Where the worker processes import the app from.
        config: Uvicorn's, for the address.
        workers: How many processes there are.
        patience: How many seconds a request's head may take.
        end_seconds: How long they may take to end.
    """
    with _listener(config) as listener:
        try:
            asyncio.run(_routed(listener, [Replica(index, app) for index in range(workers)], patience, end_seconds))
        except StartFailed as error:
            logger.error("%s", error)
            sys.exit(_START_FAILED)


async def _routed(listener: socket.socket, replicas: list[Replica], patience: float, end_seconds: float) -> None:
    await Router(listener, replicas, patience=patience, end_seconds=end_seconds).run()


def _listener(config: uvicorn.Config) -> socket.socket:
    try:
        if config.fd is not None:
            listener = socket.socket(fileno=config.fd)
        else:
            # Not uvicorn's own, which says that it serves before the worker processes do.
            family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
            listener = socket.socket(family)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((config.host, config.port))
    except OSError as error:
        logger.error("%s", error)
        sys.exit(1)
    if listener.family in (socket.AF_INET, socket.AF_INET6):
        # Connections inherit it; small answers would be held back for 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
