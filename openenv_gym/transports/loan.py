"""Connections that the event loop lends to the thread that calls, which writes and reads their sockets itself.

A call that is answered at once then costs no hand-over between threads. A loan is for that alone: whatever takes long
or is out of the ordinary (an idle caller, a slow reply, a deadline, a connection that ends, a frame that the socket
does not take at once) is for the event loop, which takes the connections back for it.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from openenv_gym_protocol.eagerness import AWAKE_SECONDS, Eagerness, give_way, is_allowed
from openenv_gym_protocol.errors import OpenEnvGymError

PATIENCE = 0.05
"""Seconds without any byte after which the caller leaves the waiting to the event loop."""

_AHEAD = 12
"""When a reply is not there yet, its reader sleeps until this many later ones are too, at most half of all: they come
in order, mostly, and to wake up costs more than a reply; but what is read while the server works is not read after."""


class Lendable(Protocol):
    """A connection that can be lent. ``read`` is for whoever has the loan, the other methods are for the event loop."""

    is_awaited: bool
    """Whether a frame was sent, and none has come since."""

    def lend(self, loan: Loan) -> int | None:
        """Leaves the socket to a loan.

        Returns:
            The socket's number; None where the connection is not in a state to be lent.
        """

    def take_back(self, cut_short: OpenEnvGymError | None) -> None:
        """Goes on on the event loop.

        Args:
            cut_short: Why nobody knows what was written and read; the connection ends with it.
        """

    def read(self) -> bool:
        """Reads what is there without waiting; whether anything was."""


class Loan:
    """The connections of one environment, as far as they are lent.

    Attributes:
        lock: Held by the thread that writes or reads, and by whoever takes the connections back.
        is_lent: Whether connections are lent. Raised on the event loop; lowered by whoever holds the lock.
        is_over: Something came that only the event loop can see to.
        is_wanted: Another thread needs the connections: who reads has to stop.
        is_touched: A caller is at the connections, or was interrupted at them.
        thread: The caller who was last at them, or about to be.
        number: Of this loan; each gets another.
        uses: How often a caller was at them.
    """

    __slots__ = (
        "_by_number",
        "_eagerness",
        "_polls",
        "_together",
        "connections",
        "is_lent",
        "is_over",
        "is_touched",
        "is_wanted",
        "lock",
        "number",
        "thread",
        "uses",
    )

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_lent = False
        self.is_over = False
        self.is_wanted = False
        self.is_touched = False
        self.thread: int | None = None
        self.number = 0
        self.uses = 0
        self.connections: list[Lendable] = []
        self._polls: dict[Lendable, select.poll] = {}
        self._together = select.poll()
        self._by_number: dict[int, Lendable] = {}
        self._eagerness = Eagerness(is_allowed=is_allowed(os.environ))

    def lend(self, connections: Sequence[Lendable]) -> bool:
        """Lends all connections or none, on the event loop.

        Returns:
            Whether they are lent.
        """
        self.number += 1
        self.is_over = False
        for connection in connections:
            number = connection.lend(self)
            if number is None:
                self.take_back()
                return False
            self.connections.append(connection)
            self._by_number[number] = connection
            self._together.register(number, select.POLLIN)
            self._polls[connection] = alone = select.poll()
            alone.register(number, select.POLLIN)
        self.is_lent = bool(connections)
        return self.is_lent

    def take_back(self, cut_short: OpenEnvGymError | None = None) -> None:
        """Has the event loop go on with the connections; on it, when nobody else is at them."""
        self.is_lent = False
        self.is_over = True  # the handler of a signal may have asked for it, in the midst of a read
        self.is_touched = False
        taken, self.connections = self.connections, []
        self._polls, self._by_number, self._together = {}, {}, select.poll()
        for connection in taken:
            connection.take_back(cut_short)

    def read(self, is_enough: Callable[[], bool], until: float, *, in_turn: int | None) -> None:
        """Reads until it is enough, the time is over, or there is a reason to leave it to the event loop.

        Args:
            is_enough: Whether what was read is enough.
            until: A time of the monotonic clock.
            in_turn: Every frame that was sent has to be answered, so that the connections can be read in their order:
                so many of them for now. None: whichever come.
        """
        if is_enough() or (in_turn is not None and not self._read_in_turn(until, in_turn)):
            return
        while not (is_enough() or self.is_over or self.is_wanted):
            ready = self._wait(self._together, until)
            if not ready:
                return
            self._read_ready(ready)

    def read_now(self) -> None:
        """Reads what is there."""
        self._read_ready(self._together.poll(0))

    def _read_in_turn(self, until: float, count: int) -> bool:
        if len(self.connections) == 1:
            return self._read_alone(self.connections[0], until)
        polls = self._polls
        awaited = [connection for connection in self.connections if connection.is_awaited][:count]
        last = len(awaited) - 1
        skipped = min(_AHEAD, len(awaited) // 2)
        for place, connection in enumerate(awaited):
            if last == 0 and not self._wait(polls[connection], until):
                return False  # a request that left just now is not answered yet
            ahead = place + skipped
            while connection.is_awaited:
                if not connection.read():
                    if not self._wait(polls[awaited[min(ahead, last)]], until):
                        return False
                    ahead = place
                if self.is_over or self.is_wanted:
                    return False
        return True

    def _read_alone(self, connection: Lendable, until: float) -> bool:
        while connection.is_awaited:
            if not self._wait(self._together, until):
                return False
            connection.read()
            if self.is_over or self.is_wanted:
                return False
        return True

    def _wait(self, poll: select.poll, until: float) -> list[tuple[int, int]]:
        left = min(until - time.monotonic(), PATIENCE)
        if left <= 0:
            return []
        # Of several connections, one is mostly ready while the others are read, and their server needs the core.
        if left > AWAKE_SECONDS and len(self.connections) == 1 and self._eagerness.is_due():
            ready = self._wait_awake(poll)
            if ready:
                return ready
            left -= AWAKE_SECONDS
        return poll.poll(1000.0 * left)

    def _wait_awake(self, poll: select.poll) -> list[tuple[int, int]]:
        until = time.monotonic() + AWAKE_SECONDS
        ready = poll.poll(0)
        while not ready and time.monotonic() < until:
            give_way()
            ready = poll.poll(0)  # other threads of this process run meanwhile
        self._eagerness.note(has_paid=bool(ready))
        return ready

    def _read_ready(self, ready: list[tuple[int, int]]) -> None:
        for number, _ in ready:
            if self.is_over:
                return
            self._by_number[number].read()
