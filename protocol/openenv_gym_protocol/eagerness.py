"""Whether it pays to wait awake for what the other end sends next.

Who sleeps has to be woken, on a core that has gone to sleep with it: for an answer that comes within microseconds this
takes longer, and more CPU, than to keep looking for it. Where nothing comes so soon, looking is a waste.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping

AWAKE_SECONDS = 0.002
"""How long a wait is awake, at most: as long as a batch of quick environments takes."""

MOST_ASLEEP = 256
"""Waits that are slept through between two trials, at most."""

give_way: Callable[[], None] = getattr(os, "sched_yield", lambda: None)
"""Lets other threads that are ready have this core."""


def is_allowed(environ: Mapping[str, str]) -> bool:
    """Whether the environment variables let this end wait awake: ``OPENENV_GYM_SPIN=0`` does not."""
    return environ.get("OPENENV_GYM_SPIN") != "0"


class Eagerness:
    """Decides for one wait after another, by how those before went.

    A wait awake that was in vain has the next ones slept through: one, then two, four, eight. One that paid halves
    what the next in vain costs, so that it takes more than a lucky one among many to stay awake for them all.

    Args:
        is_allowed: Whether any wait may be awake.
    """

    __slots__ = ("_asleep", "_left")

    def __init__(self, *, is_allowed: bool) -> None:
        self._asleep = 0
        self._left = 0 if is_allowed else math.inf

    def is_due(self) -> bool:
        """Whether the wait that begins is one to be awake in; to be asked once for each."""
        if self._left:
            self._left -= 1
            return False
        return True

    def note(self, *, has_paid: bool) -> None:
        """Learns how a wait awake ended.

        Args:
            has_paid: What was waited for came meanwhile.
        """
        if has_paid:
            self._asleep //= 2
        else:
            self._asleep = self._left = min(2 * self._asleep or 1, MOST_ASLEEP)
