"""Answers of lanes that run on threads of their own, on their way to the event loop: together, where they can be."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from openenv_gym_server.vector.parts import Part, Row
from openenv_gym_server.vector.pending import PATIENCE, PendingRequest
from openenv_gym_server.vector.shares import Share


class Gathering:
    """Wakes the event loop when the last lane has answered, not for each of them.

    Who has not answered ``PATIENCE`` after the request came is not waited for: from then on each answer wakes the
    loop.

    Args:
        pending: The request.
        count: How many lanes will answer.
    """

    def __init__(self, pending: PendingRequest, count: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._pending = pending
        self._missing = deque(range(count - 1))
        """Answers that wake nobody; the next one is the last."""
        self._answers: deque[tuple[Share, Part | Row | None]] = deque()
        self._is_late = False
        self._timer = self._loop.call_later(PATIENCE, self._wait_no_more)

    def put(self, share: Share, answer: Part | Row | None) -> None:
        """Takes the answer of a lane, on its thread; None of work that was dropped."""
        self._answers.append((share, answer))
        try:
            self._missing.pop()
        except IndexError:
            self._wake()
        else:
            if self._is_late:
                self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the server's loop is closed: nobody waits for results any more
            self._loop.call_soon_threadsafe(self._deliver)

    def _wait_no_more(self) -> None:
        # First, so that whatever comes from now on wakes the loop.
        self._is_late = True
        self._deliver()

    def _deliver(self) -> None:
        if not self._missing:
            self._timer.cancel()
        answers = []
        with suppress(IndexError):
            while True:
                answers.append(self._answers.popleft())
        self._pending.answered_together(answers)
