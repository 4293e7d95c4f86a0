"""Small helpers about event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

_T = TypeVar("_T")


def runs_on_a_loop() -> bool:
    """Whether a task of an event loop runs this."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False  # no event loop here: a plain environment's thread


async def wait_for(value: Awaitable[_T]) -> _T:
    """Any awaitable as a coroutine."""
    return await value
