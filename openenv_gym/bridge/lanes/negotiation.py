"""Which wire a server speaks is known when a connection to it is open; until then, what it says is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_protocol.vector.frames import SUBPROTOCOL

from openenv_gym.bridge.servers.server import Server
from openenv_gym.transports.address import websocket_url
from openenv_gym.transports.base import Connection, ConnectionOptions, Connector, Listener


class Offered:
    """A connection on which the vector wire was offered, and what came on it so far.

    Attributes:
        connection: The connection.
    """

    connection: Connection

    def __init__(self) -> None:
        self._listener: Listener | None = None
        self._kept: list[str | bytes | OpenEnvGymError] = []

    @property
    def is_vector(self) -> bool:
        """Whether the server selected the vector wire; otherwise it speaks the standard wire on this connection."""
        return self.connection.subprotocol == SUBPROTOCOL

    @property
    def is_taken(self) -> bool:
        """Whether somebody listens to it."""
        return self._listener is not None

    def hand_to(self, listener: Listener) -> Connection:
        """Lets somebody listen from here on, beginning with what came before."""
        self._listener = listener
        kept, self._kept = self._kept, []
        for told in kept:
            if isinstance(told, OpenEnvGymError):
                listener.connection_lost(told)
            else:
                listener.frame_received(told)
        return self.connection

    async def as_connector(self, url: str, options: ConnectionOptions, listener: Listener) -> Connection:
        """Hands the connection to who would open one."""
        del url, options
        return self.hand_to(listener)

    def frame_received(self, frame: str | bytes) -> None:
        """Takes a frame."""
        if self._listener is None:
            self._kept.append(frame)
        else:
            self._listener.frame_received(frame)

    def connection_lost(self, error: OpenEnvGymError) -> None:
        """Takes the end."""
        if self._listener is None:
            self._kept.append(error)
        else:
            self._listener.connection_lost(error)


async def offer_vector(server: Server, connector: Connector, headers: Mapping[str, str] | None = None) -> Offered:
    """Opens a connection and offers the vector wire.

    Args:
        server: Where to.
        connector: Opens it.
        headers: Sent with the handshake besides the server's own.

    Raises:
        OpenEnvGymError: It could not be opened.
    """
    offered = Offered()
    options = replace(
        server.options, subprotocols=(SUBPROTOCOL,), headers={**server.options.headers, **(headers or {})}
    )
    offered.connection = await connector(websocket_url(server.base_url), options, offered)
    return offered
