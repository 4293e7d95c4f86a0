"""An open WebSocket, over the transport itself: no task, queue or future for each connection and message.

What comes is told to a listener in the transport's own callbacks, so that one loop carries a thousand sessions.
"""

from __future__ import annotations

import asyncio
import os

from openenv_gym_protocol.errors import ConnectionLost, OpenEnvGymError
from openenv_gym_protocol.websocket_frames import Close, FrameReader, Opcode, masked_frame

from openenv_gym.transports.base import ConnectionOptions, Listener
from openenv_gym.transports.failures import closing_failure, shown
from openenv_gym.transports.forked import ends

try:
    from websockets.speedups import apply_mask
except ImportError:  # built without its C extension
    from websockets.utils import apply_mask

CLOSE_TIMEOUT = 2.0
"""Seconds that a closing handshake may take."""

_NORMAL, _INTERNAL_ERROR = 1000, 1011
_TEXT, _BINARY = Opcode.TEXT, Opcode.BINARY
_KEYS_AT_ONCE = 1024


class WebSocketConnection(asyncio.Protocol):
    """An open connection, as ``openenv_gym.transports.base.Connection`` describes it.

    Args:
        transport: What it is read from and written to, after the handshake.
        url: Where the server is.
        options: How the connection is kept.
        listener: Who is told what comes.
        subprotocol: What the server selected.

    Attributes:
        transport: What it is read from and written to.
        subprotocol: Which of the offered subprotocols the server selected; None for none.
    """

    __slots__ = (
        "__weakref__",
        "_listener",
        "_loop",
        "_lost",
        "_options",
        "_pinged",
        "_reader",
        "_received",
        "_sent",
        "_timer",
        "_url",
        "_was_aborted",
        "subprotocol",
        "transport",
    )

    def __init__(
        self,
        transport: asyncio.Transport,
        url: str,
        options: ConnectionOptions,
        listener: Listener,
        subprotocol: str | None,
    ) -> None:
        self.transport = transport
        self.subprotocol = subprotocol
        self._url = url
        self._options = options
        self._listener: Listener | None = listener
        self._reader = FrameReader(options.max_frame_bytes)
        self._loop = asyncio.get_running_loop()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._received: Close | None = None
        """With what the server closed, when it did so first."""
        self._sent: Close | None = None
        """With what this end closed or answered: no frame follows."""
        self._was_aborted = False
        self._pinged = b""
        self._timer: asyncio.TimerHandle | None = None
        """For the next ping, for its pong, and at last for the end."""
        ends.add(self)
        self._ping_later()

    @property
    def is_open(self) -> bool:
        """Whether frames can still be sent."""
        return self._sent is None and not self.transport.is_closing()

    def send(self, frame: str | bytes) -> None:
        """Writes a frame without waiting: str as text, bytes as binary.

        Raises:
            ConnectionLost: The connection is closed. What the server said before may still reach the listener.
        """
        if self._sent is not None or self.transport.is_closing():
            raise ConnectionLost(f"The connection to {shown(self._url)} is closed.")
        if isinstance(frame, str):
            self._write(_TEXT, frame.encode())
        else:
            self._write(_BINARY, frame)

    async def close(self) -> None:
        """Closes with the closing handshake, within a short bound. Never raises."""
        if self.is_open:
            self._close(Close(_NORMAL))
        if not self._lost.done():
            await asyncio.wait([self._lost])

    def abort(self) -> None:
        """Closes at once, without a handshake; what is on its way is dropped. Never raises."""
        self._was_aborted = True
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Takes bytes of the server."""
        for opcode, said in self._reader.feed(data):
            if isinstance(said, Close):
                self._close_received(said)
            elif opcode is _TEXT or opcode is _BINARY:
                if self._listener is not None:
                    self._listener.frame_received(said)
            elif isinstance(said, bytes):
                self._control_received(opcode, said)
        violation = self._reader.violation
        if violation is not None and self._sent is None:
            self._close(violation)

    def eof_received(self) -> None:
        """Learns that the server sends no more; the transport closes."""
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Learns that the connection is no more."""
        self._end(exc)
        self._set_timer(None)
        ends.discard(self)
        if not self._lost.done():
            self._lost.set_result(None)

    def _write(self, opcode: Opcode, payload: bytes) -> None:
        self.transport.write(masked_frame(opcode, payload, _next_key(), apply_mask))

    def _close_received(self, close: Close) -> None:
        if self._sent is None:
            self._received = close
            self._close(Close(close.code))

    def _control_received(self, opcode: Opcode, payload: bytes) -> None:
        if opcode is Opcode.PING:
            if self.is_open:
                self._write(Opcode.PONG, payload)
        elif self._pinged and payload == self._pinged:
            self._pinged = b""
            self._ping_later()

    def _close(self, close: Close) -> None:
        """Sends a close frame, after which the server closes the connection."""
        self._sent = close
        self._write(Opcode.CLOSE, close.payload)
        self._end()

    def _end(self, broken_by: Exception | None = None) -> None:
        """Tells the listener, without waiting for a peer that says goodbye and leaves its socket open."""
        listener, self._listener = self._listener, None
        if listener is None:
            return
        self._set_timer(self._loop.call_later(CLOSE_TIMEOUT, self.transport.abort))
        listener.connection_lost(self._failure(broken_by))

    def _failure(self, broken_by: Exception | None) -> OpenEnvGymError:
        if self._was_aborted:
            return ConnectionLost(f"This end dropped the connection to {shown(self._url)}.")
        return closing_failure(
            self._url,
            violation=self._reader.violation,
            received=self._received,
            sent=self._sent,
            broken_by=broken_by,
        )

    def _ping_later(self) -> None:
        if self._options.ping_interval is not None and self._listener is not None:
            self._set_timer(self._loop.call_later(self._options.ping_interval, self._ping))

    def _ping(self) -> None:
        if not self.is_open:
            return
        self._pinged = _next_key()
        self._write(Opcode.PING, self._pinged)
        if self._options.ping_timeout is None:
            self._ping_later()
        else:
            self._set_timer(self._loop.call_later(self._options.ping_timeout, self._miss_pong))

    def _miss_pong(self) -> None:
        if self.is_open:
            self._close(Close(_INTERNAL_ERROR, "keepalive ping timeout"))

    def _set_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer


_keys: list[bytes] = []
"""Masks of frames to come: one call of the system's random numbers is as expensive as many at once."""


def _next_key() -> bytes:
    try:
        return _keys.pop()
    except IndexError:
        drawn = os.urandom(4 * _KEYS_AT_ONCE)
        _keys.extend(drawn[at : at + 4] for at in range(4, len(drawn), 4))
        return drawn[:4]


os.register_at_fork(after_in_child=_keys.clear)
