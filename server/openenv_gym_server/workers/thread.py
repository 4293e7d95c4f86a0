"""Threads that run environments."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from openenv_gym_server.dispatch import run_to_end
from openenv_gym_server.workers.base import Job, stack_of

logger = logging.getLogger(__name__)


class WorkThread:
    """A daemon thread fed by a queue; results go back to the event loop.

    Daemon, because a hung environment must not keep the process from ending.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self._loop = loop
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def put(self, call: Callable[[], None]) -> None:
        """Adds a call, which must not raise."""
        self._queue.put(call)

    def end(self) -> None:
        """Ends the thread once the calls before have run."""
        self._queue.put(None)

    def deliver(self, reply: Callable[[Any], None], result: Any) -> None:
        """Hands a result to the event loop, from this thread."""
        try:
            self._loop.call_soon_threadsafe(reply, result)
        except RuntimeError:
            # The server's loop is closed: nobody waits for results any more.
            return

    def _run(self) -> None:
        while (call := self._queue.get()) is not None:
            try:
                call()
            except BaseException:
                # Calls do not raise. Should one do so all the same, its session waits for its deadline, and the
                # others that may share this thread go on.
                logger.exception("A call on thread %s was not guarded.", self.thread.name)


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

    def submit(self, job: Job) -> None:
        """Adds a job."""
        self._thread.put(lambda: self._run(job))

    def interrupt(self, job: Job) -> bool:
        """Does nothing: a thread cannot be stopped."""
        del job
        return False

    def abandon(self) -> None:
        """Drops the waiting jobs. The running one cannot be stopped; its result is the session's to ignore."""
        self._abandoned = True

    def stack(self) -> str:
        """Where the thread's code stands."""
        return stack_of(self._thread.thread)

    def finish(self, last: Job) -> None:
        """Adds the last job and ends the thread after it, if it is owned."""
        self._thread.put(lambda: self._deliver(last))
        if self._owned:
            self._thread.end()

    def _run(self, job: Job) -> None:
        if not self._abandoned:
            self._deliver(job)

    def _deliver(self, job: Job) -> None:
        self._thread.deliver(job.reply, run_to_end(job.work()))
