"""Requests to some lanes, handed to the event loop at once and given up together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from openenv_gym_protocol.errors import OpenEnvGymError, ReplyTimeout, SessionLost

from openenv_gym.bridge.lanes.answers import Answer, Ask, Inbox
from openenv_gym.transports.io_thread import IoThread


class Round:
    """Requests to some lanes with one deadline.

    The calling thread and the event loop meet twice in it, however many lanes there are: when it starts and when
    the inbox holds as many answers as are waited for.

    Args:
        asks: What is asked. Everything in it settles into the inbox.
        timeout: Seconds until the last reply must be there; None to wait for ever.
        inbox: Where the answers go.

    Attributes:
        count: How many lanes are asked.
    """

    def __init__(self, asks: Sequence[Ask], timeout: float | None, inbox: Inbox) -> None:
        self.count = sum(len(ask.lanes) for ask in asks)
        self._asks = asks
        self._timeout = timeout
        self._inbox = inbox
        self._open = self.count
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to wait for."""
        return self._open == 0

    def start(self, io: IoThread) -> None:
        """Has the requests sent."""
        io.loop.call_soon_threadsafe(self._begin, io.loop)

    def give_up(self, reason: str) -> None:
        """Gives up the lanes that have not answered, on the event loop. Idempotent."""
        self._abandon(lambda _: SessionLost(reason))

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timeout is not None:
            self._timer = loop.call_later(self._timeout, self._expire)
        for ask in self._asks:
            ask.begin(self._settle)

    def _settle(self, answer: Answer) -> None:
        self._open -= answer.settled
        if self._open == 0 and self._timer is not None:
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
