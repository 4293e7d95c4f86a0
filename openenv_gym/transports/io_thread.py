"""The thread that runs this process's event loop for everything that is not itself async.

One thread serves all environments and sync clients of a process: pings are answered while the learner computes.
A forked child gets a new one; the parent's sockets are not its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

logger = logging.getLogger(__name__)

SLICE_SECONDS = 1.0
"""How long a caller waits in one piece for what is done on the loop."""

_T = TypeVar("_T")
_Result = TypeVar("_Result", covariant=True)


class Shortcut(Protocol[_Result]):
    """What may do a coroutine's work without one. Its methods are called on the I/O thread."""

    def begin(self, settle: Callable[[_Result | Exception], object]) -> bool:
        """Begins the work, whose result or error is settled at once or later.

        Returns:
            Whether it does. Otherwise nothing has happened, and the coroutine has to do it.
        """

    def interrupt(self) -> None:
        """Ends what was begun and has not settled; nothing is settled any more."""


class IoThread:
    """An event loop on a daemon thread."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._mailbox = _Mailbox(self.loop)
        self._thread = threading.Thread(target=self._run, name="openenv-gym-io", daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs on this thread."""
        return threading.current_thread() is self._thread

    def run(
        self,
        work: Coroutine[Any, Any, _T],
        *,
        on_unread: Callable[[], object] | None = None,
        shortcut: Shortcut[_T] | None = None,
    ) -> _T:
        """Runs a coroutine to its end and returns its result, from any other thread.

        A KeyboardInterrupt of the caller cancels the work.

        Args:
            work: The coroutine.
            on_unread: Called on this thread when the caller was interrupted and the work had ended all the same,
                so that its result reaches nobody.
            shortcut: What does the same without the coroutine, where it can.

        Raises:
            RuntimeError: Called on the I/O thread itself, which would wait for ever.
        """
        if self.is_current:
            work.close()
            raise RuntimeError("This would block the I/O thread; await the async client there instead.")
        future: Future[_T] = Future()
        job = _Job(work, self.loop, partial(_settle, future), on_unread, shortcut)
        try:
            self._mailbox.post(job.start)
            return _result_of(future)
        except BaseException as error:
            if not (future.done() and future.exception() is error):
                self._mailbox.post(job.stop)
            raise

    async def call(
        self,
        work: Coroutine[Any, Any, _T],
        *,
        on_unread: Callable[[], object] | None = None,
        shortcut: Shortcut[_T] | None = None,
    ) -> _T:
        """Runs a coroutine on this thread's loop, awaited from any loop.

        Cancelling the caller cancels the work.

        Args:
            work: The coroutine.
            on_unread: As for ``run``.
            shortcut: As for ``run``.
        """
        if self.is_current:
            return await work
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        reply = _mailbox_of(loop)
        job = _Job(work, self.loop, lambda task: reply.post(partial(_settle, future, task)), on_unread, shortcut)
        self._mailbox.post(job.start)
        try:
            return await future
        except asyncio.CancelledError:
            self._mailbox.post(job.stop)
            raise

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


class _Mailbox:
    """Calls for a loop from other threads, with one wake-up for all that are posted before it runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._calls: deque[Callable[[], object]] = deque()
        self._is_scheduled = False

    def post(self, call: Callable[[], object]) -> None:
        """Has a function called on the loop, after those posted before. Dropped when the loop has ended."""
        self._calls.append(call)
        if self._is_scheduled:
            return
        loop = self._loop()
        try:
            self._is_scheduled = True
            if loop is not None:
                loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:
            # The loop was closed: nobody waits there any more.
            self._calls.clear()
        except BaseException:
            # A KeyboardInterrupt here must not leave a mailbox that nobody empties.
            self._is_scheduled = False
            raise

    def _deliver(self) -> None:
        # Lowered first: what is posted from here on is either delivered below or wakes the loop again.
        self._is_scheduled = False
        for _ in range(len(self._calls)):
            call = self._calls.popleft()
            try:
                call()
            except Exception:
                # None should raise; if one does, the others' callers must not wait for ever.
                logger.exception("A call on the event loop failed.")


class _Job(Generic[_T]):
    """A coroutine of another thread's."""

    def __init__(
        self,
        work: Coroutine[Any, Any, _T],
        loop: asyncio.AbstractEventLoop,
        on_end: Callable[[_End[_T]], object],
        on_unread: Callable[[], object] | None,
        shortcut: Shortcut[_T] | None = None,
    ) -> None:
        self._work = work
        self._loop = loop
        self._on_end = on_end
        self._on_unread = on_unread
        self._shortcut = shortcut
        self._is_short = False
        self._ended = False
        self._task: asyncio.Task[_T] | None = None

    def start(self) -> None:
        """Begins the work; on the loop."""
        if self._shortcut is not None:
            self._is_short = self._shortcut.begin(self._end)
            if self._is_short:
                self._work.close()
                return
        self._task = self._loop.create_task(self._work)
        self._task.add_done_callback(self._on_end)

    def stop(self) -> None:
        """Ends the work because nobody waits for it; on the loop, after ``start`` if that was posted."""
        if self._is_short:
            self._stop_short(self._shortcut)
        elif self._task is None:
            self._work.close()
        elif not self._task.done():
            self._task.cancel()
        elif not self._task.cancelled() and self._on_unread is not None:
            self._on_unread()

    def _stop_short(self, shortcut: Shortcut[_T] | None) -> None:
        if not self._ended and shortcut is not None:
            shortcut.interrupt()
        elif self._on_unread is not None:
            self._on_unread()

    def _end(self, outcome: _T | Exception) -> None:
        self._ended = True
        self._on_end(_Outcome(outcome))


class _End(Protocol[_Result]):
    """What a task tells when it is done."""

    def cancelled(self) -> bool: ...

    def exception(self) -> BaseException | None: ...

    def result(self) -> _Result: ...


class _Outcome(Generic[_T]):
    """A result or an error as a task that is done tells it."""

    __slots__ = ("_outcome",)

    def __init__(self, outcome: _T | Exception) -> None:
        self._outcome = outcome

    def cancelled(self) -> bool:
        return False

    def exception(self) -> BaseException | None:
        return self._outcome if isinstance(self._outcome, Exception) else None

    def result(self) -> _T:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def _result_of(future: Future[_T]) -> _T:
    """Waits for a future in slices: a signal that came just before a lock is waited for does not wake it."""
    while True:
        try:
            return future.result(SLICE_SECONDS)
        except TimeoutError:
            if future.done():
                break  # the work's own, or it ended just now
    return future.result()


def _settle(future: Future[_T] | asyncio.Future[_T], task: _End[_T]) -> None:
    """Hands a task's end to who waits for it; to nobody, when they stopped waiting."""
    error = None if task.cancelled() else task.exception()  # asked for in any case, or asyncio warns
    if future.cancelled():
        return
    if task.cancelled():
        future.cancel()
    elif error is not None:
        future.set_exception(error)
    else:
        future.set_result(task.result())


_mailboxes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Mailbox] = weakref.WeakKeyDictionary()


def _mailbox_of(loop: asyncio.AbstractEventLoop) -> _Mailbox:
    mailbox = _mailboxes.get(loop)
    if mailbox is None:
        mailbox = _mailboxes[loop] = _Mailbox(loop)
    return mailbox


_current: IoThread | None = None
_inherited: list[IoThread] = []
"""In a forked child: the parent's loops, kept because closing one would change the poll set shared with the parent."""
_lock = threading.Lock()


def io_thread() -> IoThread:
    """The I/O thread of this process, started when first asked for."""
    global _current
    current = _current
    if current is not None and current.pid == os.getpid():
        return current
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = IoThread()
        return _current


def _forget_after_fork() -> None:
    # The child has neither the thread nor a lock that somebody would release.
    global _current, _lock
    if _current is not None:
        _inherited.append(_current)
    _current = None
    _mailboxes.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)
