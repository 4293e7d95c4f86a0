"""Environments on the server's own event loop, for those whose steps take microseconds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from openenv_gym_server.counters import Counters
from openenv_gym_server.workers.base import AnyJob, done_at_once

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

SLOW_SECONDS = 0.005
"""Everything else of the server waits for an inline call; one longer than this is logged and counted."""


class InlineWorker:
    """Runs each job at once, where it is submitted.

    Args:
        session_id: Named in the log.
        counters: Where slow calls are counted.
    """

    def __init__(self, session_id: str, counters: Counters) -> None:
        self._session_id = session_id
        self._counters = counters
        self._slow = 0

    def submit(self, job: AnyJob) -> None:
        """Runs a job and replies."""
        job.reply(self.run(done_at_once, job))

    def run(self, call: Callable[..., _T], *arguments: Any) -> _T:
        """Runs a call, which must not raise, for whoever is on the event loop and waits for it."""
        started = time.perf_counter()
        result = call(*arguments)
        seconds = time.perf_counter() - started
        if seconds > SLOW_SECONDS:
            self._note(seconds)
        return result

    def interrupt(self, job: AnyJob) -> bool:
        """Does nothing: while a job runs, nobody can ask."""
        del job
        return False

    def abandon(self) -> None:
        """Does nothing: no job ever waits or runs beside the event loop."""

    def stack(self) -> str:
        """Nothing: while a job runs, nobody can ask."""
        return ""

    def finish(self, last: AnyJob) -> None:
        """Runs the last job."""
        self.submit(last)

    def _note(self, seconds: float) -> None:
        self._counters.slow_inline_calls += 1
        self._slow += 1
        # The 1st, 2nd, 4th, 8th ... of a session: enough to be seen, too few to drown the log.
        if self._slow & (self._slow - 1) == 0:
            logger.warning(
                "An inline call took %.1f ms and held up the whole server (session %s, its %d. slow call). "
                'Declare execution = "thread".',
                seconds * 1000,
                self._session_id,
                self._slow,
                extra={"session_id": self._session_id},
            )
