"""What lanes answer, and where the answers wait for whoever asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from openenv_gym_protocol.errors import OpenEnvGymError


@dataclass(frozen=True, slots=True)
class Answer:
    """What some lanes answered; every lane that was asked stands in one answer.

    Attributes:
        source: Who can read it: the group of the lanes.
        call: What was asked, such as ``step``.
        lanes: The lanes that succeeded, in the reply's order.
        reply: The reply, as its wire has it; None where no lane succeeded.
        errors: The lanes that failed, with why.
    """

    source: Any
    call: str
    lanes: Sequence[int] = ()
    reply: Any = None
    errors: Mapping[int, OpenEnvGymError] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many lanes it settles."""
        return len(self.lanes) + len(self.errors)


Settle: TypeAlias = Callable[[Answer], None]
"""Takes an answer, on the event loop."""

MakeError: TypeAlias = Callable[[], OpenEnvGymError]
"""Makes an error: each lane gets its own, which then names it."""


class Ask(Protocol):
    """A request to some lanes, on either wire. Its methods are called on the event loop."""

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
    """Answers that came and were not taken yet. Filled on the event loop, emptied by one other thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: list[Answer] = []
        self._count = 0
        self._wanted: int | None = None
        self._enough = threading.Lock()
        self._enough.acquire()

    def put(self, answer: Answer) -> None:
        """Adds an answer, and wakes who waits for so many lanes."""
        with self._lock:
            self._answers.append(answer)
            self._count += answer.count
            if self._wanted is not None and self._count >= self._wanted:
                self._wanted = None
                self._enough.release()

    def wait(self, count: int, timeout: float | None = None) -> bool:
        """Waits until so many lanes have settled.

        Args:
            count: How many.
            timeout: Seconds to wait; None to wait for ever.

        Returns:
            Whether they have.
        """
        with self._lock:
            if self._count >= count:
                return True
            self._wanted = count
        try:
            if self._enough.acquire(timeout=-1 if timeout is None else max(timeout, 0.0)):
                return True
        except BaseException:  # KeyboardInterrupt
            self._stop_waiting()
            raise
        return self._stop_waiting()

    def take(self) -> list[Answer]:
        """Takes all answers out."""
        with self._lock:
            taken, self._answers = self._answers, []
            self._count = 0
        return taken

    def _stop_waiting(self) -> bool:
        """Returns whether the answers came while the waiting ended."""
        with self._lock:
            if self._wanted is not None:
                self._wanted = None
                return False
        return self._enough.acquire(blocking=False)
