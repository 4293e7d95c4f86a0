"""Small helpers about event loops."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine
from types import GeneratorType
from typing import Any, TypeVar

from openenv_gym_protocol.errors import ExecutionError

_T = TypeVar("_T")


def runs_on_a_loop() -> bool:
    """Whether a task of an event loop runs this."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False  # no event loop here: a plain environment's thread


def _is_plain(kind: type) -> bool:
    return not issubclass(kind, Awaitable | GeneratorType)


is_plain: Callable[[type], bool] = functools.lru_cache(maxsize=256)(_is_plain)
"""Whether nothing of a class can be awaited, which ``inspect.isawaitable`` takes long to tell of an instance."""


async def wait_for(value: Awaitable[_T]) -> _T:
    """Any awaitable as a coroutine."""
    return await value


def run_to_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Runs a coroutine that never suspends, without an event loop.

    Raises:
        ExecutionError: It awaited something that is not ready at once.
    """
    try:
        work.send(None)
    except StopIteration as stop:
        result: _T = stop.value
        return result
    work.close()
    raise ExecutionError('The environment awaits: declare execution = "async", so that it gets an event loop.')
