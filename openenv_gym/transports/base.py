"""What a client needs of a network: a connection that sends frames and tells a listener what comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_protocol.json_codec import MAX_FRAME_BYTES


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions:
    """How a connection is opened and kept.

    Attributes:
        headers: Sent with the handshake, besides the token's. Never logged: they may be secrets as well.
        token: Sent as ``Authorization: Bearer``, and as ``X-OpenEnv-Token`` when the headers have an
            ``Authorization`` of their own. Never logged.
        connect_timeout: Seconds until the handshake must be done.
        ping_interval: Seconds between pings that keep the connection open; None for no pings.
        ping_timeout: Seconds to wait for a pong; None to wait for ever. Pings are answered by the I/O thread,
            so a learner that computes for minutes loses nothing.
        max_frame_bytes: The largest frame accepted.
        use_proxy: Whether the environment's proxy settings apply. None: they do, except for loopback addresses.
        ca_file: A file of certificates to trust for ``wss``, besides the system's.
        subprotocols: What is offered besides the standard wire, the best first. A server may select one or none.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    token: str | None = field(default=None, repr=False)
    connect_timeout: float = 10.0
    ping_interval: float | None = 20.0
    ping_timeout: float | None = 60.0
    max_frame_bytes: int = MAX_FRAME_BYTES
    use_proxy: bool | None = None
    ca_file: str | None = None
    subprotocols: tuple[str, ...] = ()

    def request_headers(self) -> dict[str, str]:
        """The headers of a request: the given ones and the token's."""
        sent = dict(self.headers)
        if self.token is not None:
            taken = any(name.lower() == "authorization" for name in sent)
            if taken:
                sent["X-OpenEnv-Token"] = self.token
            else:
                sent["Authorization"] = f"Bearer {self.token}"
        return sent


class Listener(Protocol):
    """Who is told what a connection brings. Both methods are called on the event loop and must not block.

    They may be called before the connector has returned: a server that refuses speaks first. While the connection is
    lent, ``frame_received`` is called on the thread that has it.
    """

    def frame_received(self, frame: str | bytes) -> None:
        """A whole frame came: text as str, binary as bytes."""

    def connection_lost(self, error: OpenEnvGymError) -> None:
        """The connection ended, whoever ended it; nothing follows. Called once."""


class Connection(Protocol):
    """An open connection. Its methods are called on its event loop; while it is lent, on the thread that has it."""

    @property
    def is_open(self) -> bool:
        """Whether frames can still be sent."""

    @property
    def subprotocol(self) -> str | None:
        """Which of the offered subprotocols the server selected; None for none."""

    def send(self, frame: str | bytes) -> None:
        """Writes a frame without waiting: str as text, bytes as binary.

        Raises:
            ConnectionLost: The connection is closed. What the server said before may still reach the listener.
        """

    async def close(self) -> None:
        """Closes with the closing handshake, within a short bound. Never raises."""

    def dismiss(self) -> None:
        """Closes as ``close`` does, and does not wait for it. Never raises."""

    def abort(self) -> None:
        """Closes at once, without a handshake; what is on its way is dropped. Never raises."""


class Connector(Protocol):
    """Opens connections: the one method that differs between networks."""

    async def __call__(self, url: str, options: ConnectionOptions, listener: Listener) -> Connection:
        """Opens a connection to a WebSocket URL.

        Raises:
            ConnectError: It could not be opened; the message says why and what to do.
            ConnectTimeout: Not within ``options.connect_timeout``.
            Unauthorized: The server refused the token or asked for one.
        """
