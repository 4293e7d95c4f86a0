"""What lanes answer, and where the answers wait for whoever asked."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from openenv_gym_protocol.errors import OpenEnvGymError

from openenv_gym.transports.io_thread import SLICE_SECONDS

_NO_ERRORS: Mapping[int, OpenEnvGymError] = MappingProxyType({})


class Answer:
    """What some lanes answered; every lane that was asked stands in one answer.

    Attributes:
        source: Who can read it: the group of the lanes.
        call: What was asked, such as ``step``.
        lanes: The lanes that succeeded, in the reply's order.
        reply: The reply, as its wire has it; None where no lane succeeded.
        errors: The lanes that failed, with why.
        settled: How many lanes it settles.
    """

    __slots__ = ("call", "errors", "lanes", "reply", "settled", "source")

    def __init__(
        self,
        source: Any,
        call: str,
        lanes: Sequence[int] = (),
        reply: Any = None,
        errors: Mapping[int, OpenEnvGymError] = _NO_ERRORS,
    ) -> None:
        self.source = source
        self.call = call
        self.lanes = lanes
        self.reply = reply
        self.errors = errors
        self.settled = len(lanes) + len(errors)


Settle: TypeAlias = Callable[[Answer], None]
"""Takes an answer, on the thread that has the connections."""

MakeError: TypeAlias = Callable[[], OpenEnvGymError]
"""Makes an error: each lane gets its own, which then names it."""


class Ask(Protocol):
    """A request to some lanes, on either wire.

    Its methods are called on the event loop; ``begin`` on the caller's thread where the connections are lent to that.
    """

    @property
    def lanes(self) -> Sequence[int]:
        """The lanes that are asked."""

    @property
    def call(self) -> str:
        """What is asked of them, such as ``step``."""

    def begin(self, settle: Settle) -> None:
        """Writes the request; what comes of each lane is settled once, at once or later."""

    def abandon(self, make_error: MakeError) -> None:
        """Gives up the lanes that have not answered: they are lost, and settle with an error."""


class Inbox:
    """Answers that came and were not taken yet. Filled by the event loop or the caller, emptied by the caller.

    Neither locks the other out, so that the one may be interrupted anywhere, and a signal's handler may run inside it.

    Attributes:
        came: How many lanes have settled, ever.
    """

    def __init__(self) -> None:
        self._answers: deque[Answer] = deque()
        self.came = 0
        self._taken = 0
        self._waiter: _Waiter | None = None

    def put(self, answer: Answer) -> None:
        """Adds an answer, and wakes who waits for so many lanes."""
        self._answers.append(answer)
        self.came += answer.settled
        waiter = self._waiter
        if waiter is not None and self.came >= waiter.until and not waiter.is_woken:
            waiter.is_woken = True
            waiter.lock.release()

    def until(self, count: int) -> int:
        """What ``came`` is when so many lanes can be taken."""
        return self._taken + count

    def wait(self, count: int, timeout: float | None = None) -> bool:
        """Waits until so many lanes have settled.

        Args:
            count: How many.
            timeout: Seconds to wait; None to wait for ever.

        Returns:
            Whether they have.
        """
        until = self.until(count)
        if self.came >= until:
            return True
        # A new one for each wait: what an earlier one left behind, wherever it ended, wakes nobody.
        waiter = self._waiter = _Waiter(until)
        if self.came >= until:
            return True  # they came before the waiter was seen
        # In slices: a signal that came just before a lock is waited for does not wake it.
        end = None if timeout is None else time.monotonic() + timeout
        left = SLICE_SECONDS if timeout is None else min(timeout, SLICE_SECONDS)
        while left > 0.0 and not waiter.lock.acquire(timeout=left):
            left = SLICE_SECONDS if end is None else min(end - time.monotonic(), SLICE_SECONDS)
        return self.came >= until

    def take(self) -> list[Answer]:
        """Takes all answers out."""
        answers, taken = self._answers, []
        while answers:
            answer = answers.popleft()
            self._taken += answer.settled
            taken.append(answer)
        return taken


class _Waiter:
    """A wait until so many lanes, of all that ever settle, have."""

    __slots__ = ("is_woken", "lock", "until")

    def __init__(self, until: int) -> None:
        self.until = until
        self.is_woken = False
        self.lock = threading.Lock()
        self.lock.acquire()
