"""An open WebSocket, over the transport itself: no task, queue or future for each connection and message.

What comes is told to a listener in the transport's own callbacks, so that one loop carries a thousand sessions.
"""

from __future__ import annotations

import asyncio
import os

from openenv_gym_protocol.errors import ConnectionLost, OpenEnvGymError, copied
from openenv_gym_protocol.websocket_frames import Close, Event, FrameReader, Opcode, masked_frame

from openenv_gym.transports.base import ConnectionOptions, Listener
from openenv_gym.transports.failures import closing_failure, shown
from openenv_gym.transports.forked import ends
from openenv_gym.transports.loan import PATIENCE, Loan

try:
    from websockets.speedups import apply_mask
except ImportError:  # built without its C extension
    from websockets.utils import apply_mask

CLOSE_TIMEOUT = 2.0
"""Seconds that a closing handshake may take."""

_NORMAL, _INTERNAL_ERROR = 1000, 1011
_TEXT, _BINARY = Opcode.TEXT, Opcode.BINARY
_KEYS_AT_ONCE = 1024
_READ_AT_ONCE = 1 << 16
_NOWHERE = -1
"""The number of a socket that is not lent: whoever still holds it is told by the system that there is none."""


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
        is_awaited: Whether a frame was sent, and none has come since.
    """

    __slots__ = (
        "__weakref__",
        "_broken_by",
        "_cut_short",
        "_is_dismissed",
        "_is_writing",
        "_kept",
        "_listener",
        "_loan",
        "_loop",
        "_lost",
        "_options",
        "_pinged",
        "_reader",
        "_received",
        "_sent",
        "_socket",
        "_timer",
        "_unsent",
        "_url",
        "_was_aborted",
        "is_awaited",
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
        self.is_awaited = False
        self._loan: Loan | None = None
        """Who has the connection, while it is lent. Then these are used:"""
        self._socket = _NOWHERE
        self._is_writing = False
        """Whether it is not known how much of a frame was written."""
        self._unsent = b""
        self._kept: list[Event] = []
        """What came and is for the event loop."""
        self._broken_by: OSError | None = None
        self._is_dismissed = False
        self._cut_short: OpenEnvGymError | None = None
        self._pinged = b""
        self._timer: asyncio.TimerHandle | None = None
        """For the next ping, for its pong, and at last for the end."""
        ends.add(self)
        self._ping_later()

    @property
    def is_open(self) -> bool:
        """Whether frames can still be sent."""
        return self._sent is None and not self._was_aborted and not self.transport.is_closing()

    @property
    def can_be_lent(self) -> bool:
        """Whether its bytes are those of a socket, so that it can be lent when nothing is in the way."""
        of = self.transport.get_extra_info
        return of("sslcontext") is None and of("socket") is not None

    def send(self, frame: str | bytes) -> None:
        """Writes a frame without waiting: str as text, bytes as binary.

        Raises:
            ConnectionLost: The connection is closed. What the server said before may still reach the listener.
        """
        if self._sent is not None or self._was_aborted or self.transport.is_closing():
            raise ConnectionLost(f"The connection to {shown(self._url)} is closed.")
        self.is_awaited = True
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

    def dismiss(self) -> None:
        """Closes with the closing handshake, which nobody waits for. Never raises."""
        if self._loan is not None:
            self._is_dismissed = self._loan.is_over = True
        elif self.is_open:
            self._close(Close(_NORMAL))

    def abort(self) -> None:
        """Closes at once, without a handshake; what is on its way is dropped. Never raises."""
        self._was_aborted = True
        if self._loan is not None:
            self._loan.is_over = True
        else:
            self.transport.abort()

    def lend(self, loan: Loan) -> int | None:
        """Leaves the socket to a loan; see ``openenv_gym.transports.loan.Lendable``."""
        if not self.is_open or self._listener is None or self.transport.get_write_buffer_size():
            return None
        self.transport.pause_reading()
        self._loan = loan
        self._socket = self.transport.get_extra_info("socket").fileno()
        return self._socket

    def take_back(self, cut_short: OpenEnvGymError | None) -> None:
        """Goes on on the event loop; see ``openenv_gym.transports.loan.Lendable``."""
        self._loan, self._socket = None, _NOWHERE
        unsent, self._unsent = self._unsent, b""
        if self._was_aborted:
            self.transport.abort()
            return
        if cut_short is not None:
            self._end_cut_short(cut_short, unsent)
            return
        if unsent:
            self.transport.write(unsent)
        kept, self._kept = self._kept, []
        self._take(kept)
        if self._is_dismissed:
            self.dismiss()
        self.transport.resume_reading()

    def read(self) -> bool:
        """Reads what is there; see ``openenv_gym.transports.loan.Lendable``."""
        missing = self._reader.missing
        try:
            data = os.read(self._socket, missing if missing > _READ_AT_ONCE else _READ_AT_ONCE)
        except BlockingIOError:
            return False
        except OSError as error:
            self._broken_by, data = error, b""
        if data:
            self._take(self._reader.feed(data))
        elif self._loan is not None:
            self._loan.is_over = True  # the event loop finds the same end
        return True

    def data_received(self, data: bytes) -> None:
        """Takes bytes of the server."""
        self._take(self._reader.feed(data))

    def _take(self, events: list[Event]) -> None:
        for number, (opcode, said) in enumerate(events):
            if isinstance(said, Close):
                if self._loan is not None:
                    self._kept, self._loan.is_over = events[number:], True
                    return
                self._close_received(said)
            elif opcode is _TEXT or opcode is _BINARY:
                self.is_awaited = False
                if self._listener is not None:
                    self._listener.frame_received(said)
            elif isinstance(said, bytes):
                self._control_received(opcode, said)
        violation = self._reader.violation
        if violation is not None and self._sent is None:
            if self._loan is not None:
                self._loan.is_over = True
            else:
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
        frame = masked_frame(opcode, payload, _next_key(), apply_mask)
        if self._loan is None:
            self.transport.write(frame)
        elif self._unsent:
            self._unsent += frame
        else:
            self._write_lent(frame, self._loan)

    def _write_lent(self, frame: bytes, loan: Loan) -> None:
        self._is_writing = True
        try:
            sent = os.write(self._socket, frame)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            # The event loop reads what the server said before, and finds the end.
            self._broken_by, sent, loan.is_over = error, len(frame), True
        if sent < len(frame):
            self._unsent, loan.is_over = frame[sent:], True
        self._is_writing = False

    def _end_cut_short(self, why: OpenEnvGymError, unsent: bytes) -> None:
        self._cut_short = why
        if self._is_writing:
            self.transport.abort()  # a goodbye would be read as a part of the frame
            self._end()
            return
        if unsent:
            self.transport.write(unsent)
        if self.is_open:
            self._close(Close(_NORMAL))
        self.transport.resume_reading()

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
            if self._loan is None:
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
        if self._cut_short is not None:
            return copied(self._cut_short)
        if self._was_aborted:
            return ConnectionLost(f"This end dropped the connection to {shown(self._url)}.")
        return closing_failure(
            self._url,
            violation=self._reader.violation,
            received=self._received,
            sent=self._sent,
            broken_by=broken_by or self._broken_by,
        )

    def _ping_later(self) -> None:
        if self._options.ping_interval is not None and self._listener is not None:
            self._set_timer(self._loop.call_later(self._options.ping_interval, self._ping))

    def _ping(self) -> None:
        if not self.is_open:
            return
        if self._loan is not None:
            self._ping_later()  # it is in use
            return
        self._pinged = _next_key()
        self._write(Opcode.PING, self._pinged)
        if self._options.ping_timeout is None:
            self._ping_later()
        else:
            self._set_timer(self._loop.call_later(self._options.ping_timeout, self._miss_pong))

    def _miss_pong(self) -> None:
        if not self._pinged:
            self._ping_later()  # it came while the connection was lent
        elif self._loan is not None:
            self._set_timer(self._loop.call_later(PATIENCE, self._miss_pong))  # it may be there, and read in a moment
        elif self.is_open:
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
