"""Requests to some lanes, begun at once and given up together."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from functools import partial

from openenv_gym_protocol.errors import OpenEnvGymError, ReplyTimeout, SessionLost

from openenv_gym.bridge.lanes.answers import Answer, Ask, Inbox
from openenv_gym.transports.io_thread import IoThread


class Round:
    """Requests to some lanes with one deadline.

    It is begun by the event loop, or by the thread that calls where the connections are lent to it. The event loop
    alone keeps the deadline.

    Args:
        asks: What is asked. Everything in it settles into the inbox.
        timeout: Seconds until the last reply must be there; None to wait for ever.
        inbox: Where the answers go.
        deadline: When the last reply must be there, on the monotonic clock, where the time runs already.

    Attributes:
        open: How many lanes have not settled.
        deadline: When the last reply must be there, on the monotonic clock.
    """

    def __init__(self, asks: Sequence[Ask], timeout: float | None, inbox: Inbox, deadline: float | None = None) -> None:
        self.open = sum([len(ask.lanes) for ask in asks])
        self.deadline = deadline_of(timeout) if deadline is None else deadline
        self._asks = asks
        self._timeout = timeout
        self._inbox = inbox
        self._timer: asyncio.TimerHandle | None = None

    def start(self, io: IoThread) -> None:
        """Has the event loop begin it."""
        io.loop.call_soon_threadsafe(self._start, io.loop)

    def begin(self) -> None:
        """Sends the requests."""
        for ask in self._asks:
            ask.begin(self.settle)

    def go_on(self, ask: Ask) -> None:
        """Takes in what was asked already, and is answered from now on."""
        self._asks = [*self._asks, ask]
        self.open += len(ask.lanes)

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Keeps the deadline."""
        self.unwatch()
        if self.open and self._timeout is not None:
            self._timer = loop.call_later(max(self.deadline - time.monotonic(), 0.0), self._expire)

    def unwatch(self) -> None:
        """Leaves the deadline to whoever has the connections."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def give_up(self, reason: str) -> None:
        """Gives up the lanes that have not answered, on the event loop. Idempotent."""
        self._abandon(lambda _: SessionLost(reason))

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self.watch(loop)
        self.begin()

    def settle(self, answer: Answer) -> None:
        """Takes what came of some lanes."""
        self.open -= answer.settled
        if self.open == 0 and self._timer is not None:
            self._timer.cancel()
        self._inbox.put(answer)

    def _expire(self) -> None:
        self._timer = None
        self._abandon(self._late)

    def _abandon(self, error_of: Callable[[str], OpenEnvGymError]) -> None:
        for ask in self._asks:
            ask.abandon(partial(error_of, ask.call))

    def _late(self, call: str) -> OpenEnvGymError:
        return ReplyTimeout(
            f"No reply to {call}() within {self._timeout:g} s. The session is given up: call reset(), and raise "
            f"timeouts={{'{call}': ...}} if the environment needs longer."
        )


def deadline_of(timeout: float | None) -> float:
    """When so many seconds are over, on the monotonic clock; never without any."""
    return math.inf if timeout is None else time.monotonic() + timeout
