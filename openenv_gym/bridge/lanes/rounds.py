"""All that is under way in an environment's lanes, and which thread sees to it.

A round is begun and read by the thread that calls, as long as the lanes' connections are lent to it and their replies
come at once; otherwise by the event loop. The one hands over to the other between two frames, so that the lanes and
their connections are touched by one thread at a time, and neither knows by which.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from openenv_gym_protocol.errors import SessionLost

from openenv_gym.bridge.lanes.answers import Answer, Ask, Inbox
from openenv_gym.bridge.lanes.link import LinkAsk
from openenv_gym.bridge.lanes.repeating import StepAgain
from openenv_gym.bridge.lanes.round import Round, deadline_of
from openenv_gym.transports.base import Connection
from openenv_gym.transports.io_thread import io_thread
from openenv_gym.transports.loan import PATIENCE, Loan
from openenv_gym.transports.websocket_connection import WebSocketConnection

IDLE_SECONDS = 0.25
"""How long connections stay lent to a caller who makes no call, at least; at most twice as long. Nobody answers pings
meanwhile, or keeps deadlines."""

_PAUSE = 0.005
"""Seconds between looks at whether the caller has let go of the connections."""


class Rounds:
    """The rounds of one environment.

    Args:
        connections: Gives the connections of all lanes that have a session, on the event loop; None while one has none.
    """

    def __init__(self, connections: Callable[[], Sequence[Connection] | None]) -> None:
        self._connections = connections
        self._inbox = Inbox()
        self._rounds: list[Round] = []
        self._loan = Loan()
        self._is_brisk = True
        """Whether the last replies came at once."""
        self._may_lend = True

    def start(self, asks: Sequence[Ask], timeout: float | None) -> None:
        """Sends requests with one deadline; ``take`` gives their answers."""
        self._start(asks, timeout, self._inbox)

    def wait(self, count: int, timeout: float | None = None, *, later: int = 0) -> bool:
        """Waits until so many lanes have settled; see ``Inbox.wait``.

        Args:
            count: How many.
            timeout: Seconds to wait; None to wait for ever.
            later: How many more will be waited for before anything else is sent.
        """
        return self._wait(self._inbox, count, timeout, later)

    def repeat(self, again: StepAgain, timeout: float | None) -> bool:
        """Takes a step in a known form, where the calling thread has the connections and nothing else is under way.

        Args:
            again: The step, whose answer ``take`` gives as that of any other.
            timeout: Its deadline.

        Returns:
            Whether it was sent.
        """
        if not self._may_call or not self.is_settled:
            return False
        self._rounds = []
        # Should the call be interrupted, its inbox is forgotten; as any other step it has the time that is left.
        deadline = deadline_of(timeout)
        again.settle = self._inbox.put
        again.when_taken_up = partial(self._take_up, again, timeout, deadline, self._inbox)
        return self._call(partial(self._exchange, again, deadline)) and again.is_over

    def take(self) -> list[Answer]:
        """What has settled of all that was started."""
        if self._may_call and not self.is_settled:
            self._call(self._loan.read_now)
        return self._inbox.take()

    def ask(self, asks: Sequence[Ask], timeout: float | None) -> list[Answer]:
        """Sends requests and waits until all of them are settled; nobody else's answers are among theirs."""
        inbox = Inbox()
        self._start(asks, timeout, inbox)
        self._wait(inbox, sum([len(ask.lanes) for ask in asks]), None)
        return inbox.take()

    def forget(self) -> None:
        """Forgets the answers that were not taken, and those that are to come."""
        self._inbox = Inbox()

    @property
    def is_settled(self) -> bool:
        """Whether nothing is under way."""
        return not self._rounds or self._open_lanes == 0

    @property
    def holds_caller(self) -> bool:
        """Whether the connections are with the calling thread, as the handler of a signal may find."""
        return self._loan.thread == threading.get_ident()

    def connected(self) -> None:
        """Learns that lanes have other connections."""
        self._may_lend = True

    async def reclaim(self, *, by_force: bool = False) -> None:
        """Has the event loop see to all lanes, once no caller is at them.

        Where a caller was interrupted at them, or is now, nobody knows what was sent and read: the connections end.

        Args:
            by_force: The caller cannot let go of them: it waits for this.
        """
        loan = self._loan
        loan.is_wanted = True
        try:
            while not (by_force or loan.lock.acquire(blocking=False)):
                await asyncio.sleep(_PAUSE)
            try:
                self._take_back()
            finally:
                if not by_force:
                    loan.lock.release()
        finally:
            loan.is_wanted = False

    async def give_up(self, reason: str) -> None:
        """Gives up everything that is under way: those lanes are lost."""
        await self.reclaim()
        rounds, self._rounds = self._rounds, []
        for each in rounds:
            each.give_up(reason)

    @property
    def _open_lanes(self) -> int:
        return sum([each.open for each in self._rounds])

    def _start(self, asks: Sequence[Ask], timeout: float | None, inbox: Inbox) -> None:
        if not asks:
            return
        started = Round(asks, timeout, inbox)
        self._forget_settled()
        self._rounds.append(started)
        if not self._may_call and self._is_brisk and self._may_lend:
            io_thread().run(self._lend())
        if not (self._loan.is_lent and self._call(started.begin)):
            started.start(io_thread())

    def _wait(self, inbox: Inbox, count: int, timeout: float | None, later: int = 0) -> bool:
        until = inbox.until(count)
        if inbox.came >= until:
            return True
        began = time.monotonic()
        end = math.inf if timeout is None else began + timeout
        if self._may_call:
            self._call(partial(self._read, inbox, until, end, later))
            if inbox.came >= until:
                return True
        in_time = inbox.wait(count, None if timeout is None else end - time.monotonic())
        self._is_brisk = time.monotonic() - began < PATIENCE
        return in_time

    def _exchange(self, again: StepAgain, deadline: float) -> None:
        if not again.send():
            return
        self._loan.read(lambda: again.is_over, deadline, in_turn=1)
        if not again.is_over:
            again.take_up()
            self._loan.is_over = True  # it takes long

    def _take_up(self, again: StepAgain, timeout: float | None, deadline: float, inbox: Inbox, ask: LinkAsk) -> None:
        usual = Round([], timeout, inbox, deadline)
        usual.go_on(ask)
        self._forget_settled()
        self._rounds.append(usual)
        ask.go_on(again.step, usual.settle)

    def _forget_settled(self) -> None:
        self._rounds = [each for each in self._rounds if each.open]

    def _read(self, inbox: Inbox, until: int, end: float, later: int) -> None:
        loan = self._loan
        deadline = min([each.deadline for each in self._rounds if each.open], default=math.inf)
        count = until - inbox.came
        in_turn = count if count + later >= self._open_lanes else None
        loan.read(lambda: inbox.came >= until, min(deadline, end), in_turn=in_turn)
        if inbox.came < until and time.monotonic() < end:
            loan.is_over = True  # it takes long, or is late

    @property
    def _may_call(self) -> bool:
        """Whether the connections are lent to the calling thread, as it left them."""
        if self._loan.is_touched:
            io_thread().run(self.reclaim())  # it was interrupted by what passed for the end of its call
        return self._loan.is_lent

    def _call(self, work: Callable[[], object]) -> bool:
        """Has the calling thread do something with the connections, if they are still lent to it."""
        loan = self._loan
        loan.thread = threading.get_ident()
        with loan.lock:
            if not loan.is_lent:
                return False
            loan.is_touched = True
            loan.uses += 1
            work()
            is_over = loan.is_over or loan.is_wanted
            if is_over:
                loan.is_lent = False
            loan.is_touched = False
        if is_over:
            io_thread().loop.call_soon_threadsafe(self._take_back_if, loan.number)
        return True

    async def _lend(self) -> None:
        self._take_back()
        connections = self._connections()
        if connections is None:
            return
        plain = [each for each in connections if isinstance(each, WebSocketConnection) and each.can_be_lent]
        self._may_lend = len(plain) == len(connections)
        if self._may_lend and self._loan.lend(plain):
            for each in self._rounds:
                each.unwatch()
            self._look_later()

    def _take_back(self) -> None:
        loan = self._loan
        is_cut_short = loan.is_touched
        was_lent = bool(loan.connections)
        loan.take_back(SessionLost("The call was interrupted.") if is_cut_short else None)
        if was_lent:
            loop = asyncio.get_running_loop()
            for each in self._rounds:
                each.watch(loop)

    def _take_back_if(self, number: int) -> None:
        if number == self._loan.number:
            self._take_back()

    def _look_later(self) -> None:
        loan = self._loan
        asyncio.get_running_loop().call_later(IDLE_SECONDS, partial(self._look, loan.number, loan.uses))

    def _look(self, number: int, uses: int) -> None:
        """Takes the connections back from a caller who has made no call since the last look."""
        loan = self._loan
        if number != loan.number or not loan.is_lent:
            return
        if loan.uses != uses or not loan.lock.acquire(blocking=False):
            self._look_later()
            return
        try:
            if not loan.is_touched:  # or it was interrupted, and will say so
                self._take_back()
        finally:
            loan.lock.release()
