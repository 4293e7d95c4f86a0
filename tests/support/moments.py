"""What happens to a block while it waits: not before it is entered, and not after it was left."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def happening_after(seconds: float, act: Callable[[], object]) -> Iterator[None]:
    """Does something on another thread so long after the block was entered, if it still runs then.

    Args:
        seconds: Long enough for the block to have come to where it waits.
        act: What is done.
    """
    timer = threading.Timer(seconds, act)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
