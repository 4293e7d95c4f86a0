"""One request for each of some lanes, handed to the event loop at once and awaited together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import TypeAlias

from openenv_gym_protocol.errors import OpenEnvGymError, ReplyTimeout, SessionLost
from openenv_gym_protocol.messages import Reply, Request

from openenv_gym.bridge.lane import Lane
from openenv_gym.transports.io_thread import IoThread

Outcome: TypeAlias = Reply | OpenEnvGymError
"""What came of a request."""

_GIVING_UP_SECONDS = 1.0
"""How long an interrupted call waits until its lanes are known to be lost; the loop needs microseconds."""


class Round:
    """A batch of requests with one deadline.

    The calling thread and the event loop meet twice in it, however many lanes there are: when it starts and when
    the last lane is settled.

    Args:
        requests: Pairs of a lane and its request.
        timeout: Seconds until the last reply must be there; None to wait for ever.
    """

    def __init__(self, requests: Sequence[tuple[Lane, Request]], timeout: float | None) -> None:
        self._requests = requests
        self._timeout = timeout
        self._outcomes: list[Outcome | None] = [None] * len(requests)
        self._open = len(requests)
        self._timer: asyncio.TimerHandle | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def run(self, io: IoThread) -> list[Outcome]:
        """Sends the requests and waits until every lane is settled.

        Returns:
            The outcome of each request, in their order.
        """
        if not self._requests:
            return []
        io.loop.call_soon_threadsafe(self._start, io.loop)
        try:
            self._done.acquire()
        except BaseException:  # KeyboardInterrupt: replies that come later must reach nobody
            given_up = threading.Event()
            io.loop.call_soon_threadsafe(self._give_up, given_up)
            given_up.wait(_GIVING_UP_SECONDS)
            raise
        return [outcome for outcome in self._outcomes if outcome is not None]

    def settle(self, position: int, outcome: Outcome) -> None:
        """Takes what came of one request."""
        self._outcomes[position] = outcome
        self._open -= 1
        if self._open == 0:
            if self._timer is not None:
                self._timer.cancel()
            self._done.release()

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timeout is not None:
            self._timer = loop.call_later(self._timeout, self._expire)
        for position, (lane, request) in enumerate(self._requests):
            lane.begin(request, self, position)

    def _expire(self) -> None:
        self._timer = None
        for position, (lane, request) in enumerate(self._requests):
            if self._outcomes[position] is None:
                lane.abandon(
                    ReplyTimeout(
                        f"No reply to {request.type}() within {self._timeout:g} s. The session is given up: call "
                        f"reset(), and raise timeouts={{'{request.type}': ...}} if the environment needs longer."
                    )
                )

    def _give_up(self, given_up: threading.Event) -> None:
        for position, (lane, _) in enumerate(self._requests):
            if self._outcomes[position] is None:
                lane.abandon(SessionLost("The call was interrupted before the reply came."))
        given_up.set()
