"""Threads that run environments."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

from openenv_gym_server.workers.base import AnyJob, done_at_once, stack_of

logger = logging.getLogger(__name__)

Call = Callable[[], None] | None
"""What a thread does next; None ends it."""


class Relay:
    """Carries calls from the event loop to threads, and their results back, with few wake-ups.

    Threads that are woken all at once would wait for each other to run Python. So the loop wakes the first of those
    that have something to do, and each wakes the next before it does its own: one that blocks holds up none. The
    loop is woken once for all results that have come by the time it runs.

    Args:
        loop: The event loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._line: deque[tuple[WorkThread, Call]] = deque()
        self._giving = threading.Lock()
        self._is_starting = False
        self._results: deque[tuple[Callable[[Any], None], Any]] = deque()
        self._is_woken = False

    def hand(self, thread: WorkThread, call: Call) -> None:
        """Gives a thread a call, from the event loop."""
        self._line.append((thread, call))
        if not self._is_starting:
            self._is_starting = True
            self.loop.call_soon(self._start)

    def go_on(self) -> None:
        """Gives the next in the line its call, and leaves the rest to it unless it is busy; from any thread."""
        # One at a time: two that each took a call of the same thread could give it the later one first.
        with self._giving:
            while self._line:
                thread, call = self._line.popleft()
                if thread.take(call):
                    return

    def put(self, reply: Callable[[Any], None], result: Any) -> None:
        """Hands a result to the event loop, from any thread."""
        self._results.append((reply, result))
        if self._is_woken:
            return
        self._is_woken = True
        try:
            self.loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:
            # The server's loop is closed: nobody waits for results any more.
            return

    def _start(self) -> None:
        self._is_starting = False
        self.go_on()

    def _deliver(self) -> None:
        # First, so that whatever comes from now on wakes the loop again.
        self._is_woken = False
        for _ in range(len(self._results)):
            reply, result = self._results.popleft()
            try:
                reply(result)
            except Exception:
                # The others' results must reach them.
                logger.exception("A result was not taken.")


class WorkThread:
    """A daemon thread fed by a queue; results go back to the event loop.

    Daemon, because a hung environment must not keep the process from ending.

    Args:
        loop: The event loop.
        name: The thread's name.
        relay: What carries calls and results; one of its own by default.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str, relay: Relay | None = None) -> None:
        self._relay = relay or Relay(loop)
        self._hand = self._queue_up if relay is None else partial(relay.hand, self)
        self._queue: SimpleQueue[Call] = SimpleQueue()
        self._claim = threading.Lock()
        """Held while a call is under way, or is certain to be picked up at once by the idle thread."""
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def put(self, call: Callable[[], None]) -> None:
        """Adds a call, which must not raise."""
        self._hand(call)

    def end(self) -> None:
        """Ends the thread once the calls before have run."""
        self._hand(None)

    def take(self, call: Call) -> bool:
        """Adds a call now, from any thread.

        Returns:
            Whether the thread was idle, so that it picks the call up and sees to the rest of the line.
        """
        # Claimed first: between the two the thread might pick the call up, end it, and wait for the next one.
        is_idle = self._claim.acquire(blocking=False)
        self._queue.put(call)
        return is_idle

    @property
    def is_wanted(self) -> bool:
        """Whether calls wait for the one under way to end."""
        return not self._queue.empty()

    def deliver(self, reply: Callable[[Any], None], result: Any) -> None:
        """Hands a result to the event loop, from this thread."""
        self._relay.put(reply, result)

    def _queue_up(self, call: Call) -> None:
        # There is nobody else to be woken before or after.
        self._queue.put(call)

    def _run(self) -> None:
        while (call := self._next()) is not None:
            try:
                call()
            except BaseException:
                # Calls do not raise. Should one do so all the same, its session waits for its deadline, and the
                # others that may share this thread go on.
                logger.exception("A call on thread %s was not guarded.", self.thread.name)
            self._claim.release()

    def _next(self) -> Call:
        call = self._queue.get()
        if not self._claim.acquire(blocking=False):
            self._relay.go_on()  # whoever held the claim left the line to this thread
        return call


class ThreadWorker:
    """Runs a session's jobs on a thread of its own, or on one shared with others.

    Args:
        thread: Where to run.
        owned: The thread ends with this worker.
    """

    def __init__(self, thread: WorkThread, *, owned: bool) -> None:
        self._thread = thread
        self._owned = owned
        self._abandoned = False

    def submit(self, job: AnyJob) -> None:
        """Adds a job."""
        self._thread.put(partial(self._run, job))

    def call(self, work: Callable[[], None]) -> None:
        """Adds work that must not raise, and that hands its result on by itself."""
        self._thread.put(partial(self._call, work))

    def interrupt(self, job: AnyJob) -> bool:
        """Does nothing: a thread cannot be stopped."""
        del job
        return False

    def abandon(self) -> None:
        """Drops the waiting jobs. The running one cannot be stopped; its result is the session's to ignore."""
        self._abandoned = True

    def stack(self) -> str:
        """Where the thread's code stands."""
        return stack_of(self._thread.thread)

    def finish(self, last: AnyJob) -> None:
        """Adds the last job and ends the thread after it, if it is owned."""
        self._thread.put(partial(self._done, last))
        if self._owned:
            self._thread.end()

    def _run(self, job: AnyJob) -> None:
        if not self._abandoned:
            self._done(job)

    def _call(self, work: Callable[[], None]) -> None:
        if not self._abandoned:
            work()

    def _done(self, job: AnyJob) -> None:
        self._thread.deliver(job.reply, done_at_once(job))
