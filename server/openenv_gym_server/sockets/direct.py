"""A WebSocket over the server's transport itself: no task, no queue and no time-out for each message."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from openenv_gym_protocol.websocket_frames import Mask, Opcode, frame

from openenv_gym_server.asgi import ABNORMAL, INTERNAL_ERROR, NO_STATUS, SERVICE_RESTART
from openenv_gym_server.sockets.awake import Awake
from openenv_gym_server.sockets.base import Conversation
from openenv_gym_server.sockets.codec import Event, FrameReader, close_answer, close_payload
from openenv_gym_server.sockets.line import Line

logger = logging.getLogger(__name__)

_TEXT, _BINARY = Opcode.TEXT, Opcode.BINARY

_CLOSE_SECONDS = 10.0
"""How long a client may take to answer a close frame, and to read what was written before it."""


_DRAIN_SECONDS = 5.0
"""How long the answers under way may take when the server ends."""


_UNREAD_SECONDS = 600.0
"""How long a client may leave unread what was written to it, and keep its session."""

_LENT_SECONDS = 0.05
"""How long a thread that has the line may be at one message, before the event loop takes it back to hear of others."""


class Connections(Protocol):
    """The set in which the server keeps what it has to shut down."""

    def add(self, connection: object, /) -> None:
        """Adds one."""

    def discard(self, connection: object, /) -> None:
        """Removes one."""

    def __len__(self) -> int:
        """How many there are."""


class DirectSocket(asyncio.Protocol):
    """An accepted connection, whose bytes come here from now on.

    Args:
        transport: What the connection is read from and written to.
        connections: Where the server keeps its connections, each with a ``shutdown``.
        max_bytes: The largest message of a client.
        ping_interval: Seconds of silence after which the client is asked for a sign of life; None never asks.
        ping_timeout: Seconds in which that has to come; None waits for ever.
        unmask: Takes a mask off a payload, faster than it is done here.

    Attributes:
        close_code: With which the connection ended, whoever closed it.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        connections: Connections,
        *,
        max_bytes: int,
        ping_interval: float | None,
        ping_timeout: float | None,
        unmask: Mask | None = None,
    ) -> None:
        self.close_code: int | None = None
        self._transport = transport
        self._connections = connections
        self._ping_interval = ping_interval
        self._ping_timeout = ping_timeout
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(max_bytes, unmask)
        self._conversation: Conversation
        self._lost = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        """A close frame was sent or answered: no frame follows."""
        self._is_ending = False
        """The server ends: what is under way is answered, and nothing else."""
        self._heard = True
        """Bytes came since the timer was set."""
        self._is_asked = False
        """The client was asked for a sign of life."""
        self._reading = True
        self._writable = True
        self._unread: asyncio.TimerHandle | None = None
        self._unsent: list[str | bytes] = []
        self._pong: bytes | None = None
        self._awake = Awake(self._is_alone)
        self._line: Line | None = None
        self._looking_after: asyncio.TimerHandle | None = None
        self._came: Sequence[Event] = ()
        """What came last."""

    async def serve(self, conversation: Conversation) -> None:
        """Serves a conversation until the connection is closed."""
        self.begin(conversation)
        await self.wait()

    def begin(self, conversation: Conversation) -> None:
        """Takes the connection over: from now on all that comes is the conversation's."""
        self._conversation = conversation
        self._connections.add(self)
        self._transport.set_protocol(self)
        self._wait_for_silence()

    async def wait(self) -> None:
        """Waits until the connection is closed; cancelled, it has no time for a closing handshake."""
        try:
            await asyncio.shield(self._lost)
        finally:
            self.abort()
            await self._conversation.finish()

    def abort(self) -> None:
        """Cuts the connection."""
        self.take_back()
        self._end(ABNORMAL)
        self._transport.abort()

    def send(self, frame_: str | bytes) -> None:
        """Sends a frame, after those before it."""
        if self._line is not None:
            self.take_back()
        if self._closing:
            return
        if isinstance(frame_, str):
            self._transport.write(frame(_TEXT, frame_.encode()))
        else:
            self._transport.write(frame(_BINARY, frame_))
        if self._writable:
            self._conversation.sent(frame_)
            if self._is_ending:
                self._close_if_done()
            elif len(self._connections) == 1:
                self._awake.replied()
        else:
            self._unsent.append(frame_)

    def close(self, code: int) -> None:
        """Closes the socket after the frames before it, and waits for the client's answer."""
        self.take_back()
        self._close(code, close_payload(code))

    def shutdown(self) -> None:
        """Closes the connection because the server ends, after the answers that are under way."""
        self.take_back()
        self._is_ending = True
        if not self._closing:
            self._set_timer(self._loop.call_later(_DRAIN_SECONDS, self._close_for_restart))
        self._close_if_done()

    def settle(self) -> None:
        """Ends what was told to, if nothing is under way any more."""
        if self._is_ending:
            self._close_if_done()

    def pause_reading(self) -> None:
        """Reads no further."""
        if self._reading and not self._closing:
            self._reading = False
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Reads on."""
        if not self._reading and not self._transport.is_closing():
            self._reading = True
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Takes bytes of the client."""
        self._heard = True
        self._awake.received()
        self._came = self._reader.feed(data)
        self._take(self._came)

    def lend(self, when_ended: Callable[[], None]) -> Line | None:
        """Lends the connection to a thread, where the loop has nothing else to do with it, or with another one."""
        fd = self._free_descriptor()
        if fd is None:
            return None
        self._transport.pause_reading()
        line = Line(fd, self._reader, self._loop, give_back=self._given_back, when_ended=when_ended)
        self._line = line
        self._looking_after = self._loop.call_later(_LENT_SECONDS, self._look_after_line)
        return line

    def take_back(self) -> None:
        """Takes the connection back, if it is lent, with all that the thread leaves."""
        line, self._line = self._line, None
        if line is None:
            return
        if self._looking_after is not None:
            self._looking_after.cancel()
        self._heard, self._came = True, ()
        left = line.end()
        if left.unsent:
            self._transport.write(left.unsent)
        if self._reading and not self._transport.is_closing():
            self._transport.resume_reading()
        self._take(left.events)

    def eof_received(self) -> None:
        """Learns that the client sends no more; the transport closes once what was written before is read."""
        if not self._closing:
            self._end(ABNORMAL)
            self._set_timer(self._loop.call_later(_CLOSE_SECONDS, self._transport.abort))

    def pause_writing(self) -> None:
        """Learns that the client reads slower than it is written to."""
        self._writable = False
        self._unread = self._loop.call_later(_UNREAD_SECONDS, self._give_up_reader)

    def resume_writing(self) -> None:
        """Learns that the client has caught up."""
        self._writable = True
        self._forget_unread()
        if self._pong is not None:
            self._answer_ping(self._pong)
        sent, self._unsent = self._unsent, []
        for frame_ in sent:
            self._conversation.sent(frame_)
        if self._is_ending:
            self._close_if_done()

    def connection_lost(self, exc: Exception | None) -> None:
        """Learns that the connection is no more."""
        del exc
        self.take_back()
        self._end(ABNORMAL)
        self._set_timer(None)
        self._forget_unread()
        self._connections.discard(self)
        if not self._lost.done():
            self._lost.set_result(None)

    def _is_alone(self) -> bool:
        """Whether the server has nothing to do but to wait for this client."""
        return len(self._connections) == 1 and not (self._closing or self._conversation.is_busy)

    def _take(self, events: Sequence[Event]) -> None:
        violation = self._reader.violation  # now: with the last of the events the reader may become a thread's
        for opcode, payload in events:
            if opcode is _TEXT or opcode is _BINARY:
                if not (self._closing or self._is_ending):
                    self._conversation.receive(payload)
            else:
                self._control(opcode, cast(bytes, payload))
        if violation is not None and not self._closing:
            logger.info("A client broke the WebSocket protocol: %s.", violation.reason)
            self._close(violation.code, close_payload(*violation))
            self._stop_writing()

    def _free_descriptor(self) -> int | None:
        """What a thread may read and write, while nothing waits to be read or written here, and nobody else is here."""
        # Whatever came with a message would have to be taken before what a thread reads.
        is_last = len(self._came) == 1 and self._reader.is_between_messages
        is_idle = is_last and self._reading and self._writable and self._line is None
        if not is_idle or self._closing or self._is_ending or len(self._connections) != 1:
            return None
        transport = self._transport
        if transport.get_write_buffer_size() or transport.get_extra_info("sslcontext") is not None:
            return None
        connected = transport.get_extra_info("socket")
        return None if connected is None else connected.fileno()

    def _given_back(self, line: Line) -> None:
        if line is self._line:
            self.take_back()

    def _look_after_line(self) -> None:
        line = self._line
        if line is None:
            return
        is_busy_long = time.monotonic() - line.heard_at > _LENT_SECONDS
        if is_busy_long or len(self._connections) != 1:
            self.take_back()
        else:
            self._looking_after = self._loop.call_later(_LENT_SECONDS, self._look_after_line)

    def _control(self, opcode: Opcode, payload: bytes) -> None:
        if opcode is Opcode.PING:
            self._answer_ping(payload)
        elif opcode is Opcode.PONG:
            if self._is_asked:
                self._wait_for_silence()
        else:
            code = int.from_bytes(payload[:2], "big") if payload else NO_STATUS
            self._close(code, close_answer(payload))
            self._transport.close()

    def _answer_ping(self, payload: bytes) -> None:
        self._pong = None
        if self._closing:
            return
        if self._writable:
            self._transport.write(frame(Opcode.PONG, payload))
        else:
            # The last of many is enough, and a client that reads nothing fills no memory with them.
            self._pong = payload

    def _close(self, code: int, payload: bytes) -> None:
        if self._closing:
            return
        self._transport.write(frame(Opcode.CLOSE, payload))
        self._end(code)
        self.resume_reading()  # the client's answer, or its end
        self._set_timer(self._loop.call_later(_CLOSE_SECONDS, self._transport.abort))

    def _give_up_reader(self) -> None:
        logger.info("A client read nothing for %g s.", _UNREAD_SECONDS)
        self.abort()

    def _forget_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _close_if_done(self) -> None:
        if not self._conversation.is_busy:
            self._close_for_restart()

    def _close_for_restart(self) -> None:
        self._close(SERVICE_RESTART, close_payload(SERVICE_RESTART))
        self._transport.close()

    def _stop_writing(self) -> None:
        # Closed with bytes of the client's unread, the connection would be reset, and the close frame lost with it.
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()

    def _end(self, code: int) -> None:
        if not self._closing:
            self._closing = True
            self.close_code = code
            self._conversation.end()

    def _set_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _wait_for_silence(self) -> None:
        if self._ping_interval and not self._is_ending:
            self._heard = self._is_asked = False
            self._set_timer(self._loop.call_later(self._ping_interval, self._ask_for_life))

    def _ask_for_life(self) -> None:
        if self._heard or self._line is not None:
            self._wait_for_silence()
            return
        # Where reading is paused no answer can be seen; the end of a client is, by writing to it.
        self._transport.write(frame(Opcode.PING, b""))
        if self._ping_timeout is None or not self._reading:
            self._wait_for_silence()
        else:
            self._is_asked = True
            self._set_timer(self._loop.call_later(self._ping_timeout, self._expect_life))

    def _expect_life(self) -> None:
        if self._heard or not self._reading:
            self._wait_for_silence()
            return
        logger.info("A client gave no sign of life for %s s.", self._ping_timeout)
        self._close(INTERNAL_ERROR, close_payload(INTERNAL_ERROR, "keepalive ping timeout"))
        self._transport.close()
