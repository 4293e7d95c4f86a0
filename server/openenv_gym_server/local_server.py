"""uvicorn's server, which clients on this machine also reach without TCP."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn
from openenv_gym_protocol.local_socket import is_allowed, local_name

logger = logging.getLogger(__name__)


class LocalServer(uvicorn.Server):
    """Listens at its address, and where that is one of this machine's own, at the Unix socket beside it.

    It is the same app with the same checks; only TLS, which that socket does without, leaves it closed.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to listen."""
        await super().startup(sockets)
        if self.started and not self.config.is_ssl and is_allowed(os.environ):
            for name in list(self._names()):
                await self._listen(name)

    def _names(self) -> Iterator[str]:
        for server in self.servers:
            for listener in server.sockets:
                address = listener.getsockname()  # of a Unix socket it is a path
                name = local_name(*address[:2]) if isinstance(address, tuple) else None
                if name is not None:
                    yield name

    async def _listen(self, name: str) -> None:
        try:
            listener = _bound(name)
        except OSError as error:
            # Somebody has the name. Clients use the address, as they do when it is not their own user's.
            logger.info("No Unix socket beside the address, which works all the same: %s.", error)
            return
        listener.settimeout(0)
        loop = asyncio.get_running_loop()
        self.servers.append(await loop.create_unix_server(self._protocol, sock=listener, backlog=self.config.backlog))

    def _protocol(self) -> asyncio.Protocol:
        make: Any = self.config.http_protocol_class
        made: asyncio.Protocol = make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        return made


def _bound(name: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(name)
    except OSError:
        listener.close()
        raise
    return listener
