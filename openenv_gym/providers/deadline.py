"""One time budget for several steps."""

from __future__ import annotations

import time


class Deadline:
    """A moment by which a piece of work of several steps must be done.

    Args:
        seconds: The budget, counted from now. Zero or less has passed already.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends = time.monotonic() + seconds

    def remaining(self, at_most: float | None = None) -> float:
        """Seconds that are left, never below zero and never above ``at_most``."""
        left = max(0.0, self._ends - time.monotonic())
        return left if at_most is None else min(left, at_most)

    @property
    def passed(self) -> bool:
        """Whether nothing is left."""
        return self.remaining() <= 0.0

    def __repr__(self) -> str:
        return f"Deadline({self.remaining():.1f} of {self.seconds:g} s left)"
