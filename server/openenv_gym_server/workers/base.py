"""What a session needs of the place where its environment runs."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

from openenv_gym_server.loops import run_to_end


class Job(NamedTuple):
    """A piece of work for an environment.

    ``work`` makes a coroutine that never raises; ``reply`` takes its result on the server's event loop. ``at_once``
    does the same as ``work`` where nothing is awaited, if there is such a way.
    """

    work: Callable[[], Coroutine[Any, Any, Any]]
    reply: Callable[[Any], None]
    at_once: Callable[[], Any] | None = None


class AnyJob(Protocol):
    """What workers ask of a job: a ``Job``, or what has its parts as methods."""

    @property
    def work(self) -> Callable[[], Coroutine[Any, Any, Any]]:
        """As of a ``Job``."""

    @property
    def reply(self) -> Callable[[Any], None]:
        """As of a ``Job``."""

    @property
    def at_once(self) -> Callable[[], Any] | None:
        """As of a ``Job``."""


class Worker(Protocol):
    """Runs one session's jobs, one after another and in order."""

    def submit(self, job: AnyJob) -> None:
        """Adds a job; called on the server's event loop."""

    def interrupt(self, job: AnyJob) -> bool:
        """Stops a job, and no other, where that is possible; the session goes on.

        Returns:
            Whether it was tried. The job's reply tells when it has ended.
        """

    def abandon(self) -> None:
        """Drops the waiting jobs and, where that is possible, cancels the running one."""

    def stack(self) -> str:
        """Where the running job stands, as text for the log; empty where there is nothing to tell."""

    def finish(self, last: AnyJob) -> None:
        """Adds the last job, which runs whatever was abandoned before, and then ends."""


def done_at_once(job: AnyJob) -> Any:
    """The result of a job whose environment does not await."""
    at_once = job.at_once
    return run_to_end(job.work()) if at_once is None else at_once()


def stack_of(thread: threading.Thread) -> str:
    """Where another thread's code stands just now."""
    frame = sys._current_frames().get(thread.ident or 0)
    return "".join(traceback.format_stack(frame)) if frame else ""
