"""The goodbyes of environments that nobody closed: said in the background, and waited for at the end of the process.

A server that hears none keeps the lanes for somebody who comes back.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import os
import time

LONGEST = 0.5
"""Seconds that all of them together may hold up the end of the process."""

_under_way: set[concurrent.futures.Future[None]] = set()
_until: float | None = None
"""When the process ends in any case, on the monotonic clock; None while it does not end."""


def say(goodbye: concurrent.futures.Future[None]) -> None:
    """Sees to it that a goodbye is said before the process ends, which may have begun. From any thread."""
    _under_way.add(goodbye)
    goodbye.add_done_callback(_under_way.discard)
    if _until is not None:
        _wait(_until)


def _wait(until: float) -> None:
    concurrent.futures.wait(list(_under_way), max(until - time.monotonic(), 0.0))


def _end() -> None:
    global _until
    _until = time.monotonic() + LONGEST
    _wait(_until)


# Finalizers run at the exit too, before this or after it, as they happen to be registered.
atexit.register(_end)
os.register_at_fork(after_in_child=_under_way.clear)
