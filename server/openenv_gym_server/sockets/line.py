"""The bytes of an accepted connection in the hands of a thread, which reads and answers by itself for a while.

While the line is lent, the event loop neither reads nor writes the connection. Either side ends that: the thread gives
the line back, or the loop takes it back. What the thread reads or writes, and what goes with that, it does under the
lock, so that once the loop has taken the line back, nothing more happens to the connection on the thread.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from openenv_gym_protocol.websocket_frames import Opcode, frame

from openenv_gym_server.sockets.codec import Event, FrameReader

_CHUNK = 1 << 16

_BINARY = Opcode.BINARY


class LeftOver(NamedTuple):
    """What the thread leaves to the event loop."""

    unsent: bytes
    """The rest of what it wrote."""

    events: Sequence[Event]
    """What came last, and is not for the thread."""


class Line:
    """A connection that is lent.

    Args:
        fd: Its descriptor, which does not block.
        reader: What reads its frames.
        loop: The event loop that it belongs to.
        give_back: Called on the event loop once the thread has given the line back.
        when_ended: Called on the event loop, under the lock, when the line is lent no more.

    Attributes:
        lock: Held by the thread while it reads or writes, and whatever else must not happen beside that.
        is_lent: Whether the line is the thread's.
        heard_at: When the last message came, on the monotonic clock.
    """

    def __init__(
        self,
        fd: int,
        reader: FrameReader,
        loop: asyncio.AbstractEventLoop,
        *,
        give_back: Callable[[Line], None],
        when_ended: Callable[[], None],
    ) -> None:
        self.lock = threading.Lock()
        self.is_lent = True
        self.heard_at = time.monotonic()
        self._fd = fd
        self._reader = reader
        self._loop = loop
        self._give_back = give_back
        self._when_ended = when_ended
        self._unsent = b""
        self._events: Sequence[Event] = ()

    def read(self) -> bytes | None:
        """The message that has come: on the thread, under the lock.

        Returns:
            A whole binary message; None where none has come whole. Anything else gives the line back.
        """
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        events = self._reader.feed(data)
        if len(events) == 1 and events[0][0] is _BINARY and self._reader.violation is None:
            self.heard_at = time.monotonic()
            return events[0][1]  # type: ignore[return-value]  # binary messages are bytes
        if events or not data or self._reader.violation is not None:
            self.give_back(events)
        return None

    def write(self, message: bytes) -> None:
        """Sends a binary message, after those before it: on the thread, under the lock.

        What the connection does not take is left to the event loop, to which the line is given back.
        """
        data = frame(_BINARY, message)
        try:
            sent = 0 if self._unsent else os.write(self._fd, data)
        except OSError:
            sent = 0  # full, or broken: the event loop finds out which
        if sent < len(data):
            self._unsent += data[sent:]
            self.give_back()

    def give_back(self, events: Sequence[Event] = ()) -> None:
        """Gives the line back, with messages that are not for the thread: there, under the lock."""
        if self.is_lent:
            self.is_lent = False
            self._events = events
            with suppress(RuntimeError):  # the server's loop is closed
                self._loop.call_soon_threadsafe(self._give_back, self)

    def give_back_message(self, message: bytes) -> None:
        """Gives the line back with a message that was read: there, under the lock."""
        self.give_back([(_BINARY, message)])

    def end(self) -> LeftOver:
        """Takes the line back: on the event loop. From now on the thread does nothing more with it."""
        with self.lock:
            self.is_lent = False
            self._when_ended()
            return LeftOver(self._unsent, self._events)
