"""Code that is written once and awaits only where something has to be awaited.

It is a generator that yields what may have to be awaited and gets the results. Without any such thing it runs to its
end at once; with one, the rest becomes a coroutine. Nobody's coroutine is begun outside the task that awaits it.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
import threading
from collections.abc import Awaitable, Coroutine, Generator, Iterable
from typing import Any, TypeVar

from openenv_gym_protocol.errors import ExecutionError

from openenv_gym_server.loops import runs_on_a_loop, wait_for

_T = TypeVar("_T")

Steps = Generator[Awaitable[Any], Any, _T]
"""Code of that kind, with its result."""


def finish(steps: Steps[_T]) -> _T | Coroutine[Any, Any, _T]:
    """Runs such code to its end, or to the first thing to await.

    Returns:
        Its result, or a coroutine of the rest of it.
    """
    try:
        pending = next(steps)
    except StopIteration as stop:
        result: _T = stop.value
        return result
    return _rest(steps, pending)


async def _rest(steps: Steps[_T], pending: Awaitable[Any]) -> _T:
    try:
        while True:
            try:
                value = await pending
            except BaseException as error:
                pending = steps.throw(error)
            else:
                pending = steps.send(value)
    except StopIteration as stop:
        result: _T = stop.value
        return result


def settled(value: Any) -> Steps[Any]:
    """One value, awaited if it has to be, for ``yield from``."""
    if inspect.isawaitable(value):
        value = yield value
    return value


def all_settled(values: Iterable[Any]) -> Steps[list[Any]]:
    """Several values, awaited at the same time if they have to be, for ``yield from``."""
    found = list(values)
    waiting = [at for at, value in enumerate(found) if inspect.isawaitable(value)]
    if waiting:
        for at, result in zip(waiting, (yield _together([found[at] for at in waiting])), strict=True):
            found[at] = result
    return found


async def _together(awaitables: list[Awaitable[Any]]) -> list[Any]:
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    try:
        return await asyncio.gather(*tasks)
    finally:
        # Where one failed, the others have nobody to work for.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def abandon(values: Iterable[Any]) -> None:
    """Closes coroutines that nobody will await, so that Python does not warn of them."""
    for value in values:
        if not inspect.iscoroutine(value):
            continue
        if value.cr_code in (_rest.__code__, _together.__code__):
            inside = inspect.getcoroutinelocals(value)
            abandon([inside.get("pending"), *inside.get("awaitables", ())])
        value.close()


def wait_here(value: Any) -> Any:
    """A value, awaited if it has to be, in a thread without an event loop.

    All threads share one event loop for it, in a thread of its own, so that what belongs to a loop (a client's open
    connections) may serve them all.

    Raises:
        ExecutionError: There is an event loop in this thread, which would stand still.
    """
    if not inspect.isawaitable(value):
        return value
    if runs_on_a_loop():
        abandon([value])
        raise ExecutionError(
            "The rubric awaits, and this thread has an event loop. In an async environment write "
            '`await self._apply_rubric_async(action, observation)`; an inline one needs execution = "thread".'
        )
    return asyncio.run_coroutine_threadsafe(wait_for(value), _loop.get()).result()


class _SharedLoop:
    """The event loop of what plain environments wait for; made when it is first needed, and anew after a fork."""

    _lock: threading.Lock
    _loop: asyncio.AbstractEventLoop | None

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def get(self) -> asyncio.AbstractEventLoop:
        """The running loop."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=self._loop.run_forever, name="openenv-gym-rewards", daemon=True)
                thread.start()
                atexit.register(self._end, self._loop, thread)
            return self._loop

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._loop = None

    @staticmethod
    def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
        if thread.is_alive():  # not so in a forked child, whose copy of the loop never runs
            loop.call_soon_threadsafe(loop.stop)
            thread.join(1.0)
        if not loop.is_running():
            loop.close()


_loop = _SharedLoop()
