"""Steps that the lanes' thread reads and answers by itself, while its client does nothing but step.

On its way through the event loop each step costs two wake-ups of a thread, which for quick environments take longer
than the step. So where one connection is all that the server has to serve, its lanes are all on one thread, and steps
follow each other promptly, the loop lends the line to that thread. It has it back when the client pauses or asks
anything else, when another client or call waits, or when a step takes long: from then on all goes the usual way.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from openenv_gym_protocol.eagerness import AWAKE_SECONDS, Eagerness, give_way, is_allowed
from openenv_gym_protocol.vector.frames import Step
from openenv_gym_protocol.vector.repeating import RequestReader

from openenv_gym_server.sockets.line import Line
from openenv_gym_server.vector.pending import PendingRequest
from openenv_gym_server.vector.thread_steps import ThreadStep
from openenv_gym_server.workers.thread import WorkThread

logger = logging.getLogger(__name__)

_SHORT_SECONDS = 0.25
"""Steps that have less time than that are left to the event loop, which may hear of a line that is lent later."""


class LinkEnd(Protocol):
    """The link that lanes belong to."""

    def send(self, frame: bytes) -> None:
        """Sends a frame that answers what was asked."""

    def answered(self, request_id: int) -> None:
        """Learns that a request was answered to its end."""

    def note_under_way(self, request_id: int) -> None:
        """Learns that a request that came on a lent line is under way."""

    def lend(self, when_ended: Callable[[], None]) -> Line | None:
        """Lends its line, if nothing but the step that has just come is under way."""

    def take_back(self) -> None:
        """Takes the line back, if it is lent."""

    def accept(self, message: bytes, request: Step) -> bool:
        """Counts a step that came on the line, or leaves it to the event loop: on the thread, under the line's lock."""

    def keep(self, frame: bytes) -> None:
        """Keeps an answer for as long as the client may not have it: there too."""


class Lanes(Protocol):
    """The lanes of a link."""

    def thread_step(self, request: Step) -> ThreadStep | None:
        """The step of lanes that are all on the thread; None where it is not that."""

    def unanswered(self, request: Step, step: ThreadStep) -> PendingRequest:
        """Waits for the answer of a step, which nobody else knows of yet."""

    def take_up(self, pending: PendingRequest, limit: float | None, began: float) -> None:
        """Takes a step that is under way as one that came the usual way, at that time of the monotonic clock."""


class _UnderWay(NamedTuple):
    pending: PendingRequest
    step: ThreadStep
    began: float


class DirectSteps:
    """The steps of the lanes of one thread.

    Args:
        thread: The thread.
        lanes: The lanes.
        link: Their link.
    """

    def __init__(self, thread: WorkThread, lanes: Lanes, link: LinkEnd) -> None:
        self._thread = thread
        self._lanes = lanes
        self._link = link
        self._eagerness = Eagerness(is_allowed=is_allowed(os.environ))
        self._reader = RequestReader()
        self._line: Line
        self._under_way: _UnderWay | None = None
        self._followed = 0

    def begin(self, request: Step, step: ThreadStep) -> bool:
        """Leaves a step that came on the event loop, and those that follow it, to the thread; or does nothing.

        Returns:
            Whether it is left to the thread.
        """
        if not _has_time(step) or not self._eagerness.is_due():
            return False
        line = self._link.lend(self._when_ended)
        if line is None:
            return False
        self._line = line
        self._followed = 0
        self._start(request, step)
        self._thread.put(self._run)
        return True

    def _start(self, request: Step, step: ThreadStep) -> None:
        pending = self._lanes.unanswered(request, step)
        pending.ended = self._answered
        self._under_way = _UnderWay(pending, step, self._line.heard_at)

    def _run(self) -> None:
        line = self._line
        try:
            while self._carry_out(line) and self._hear(line):
                pass
        except BaseException:
            # What is under way then is the event loop's, which gives it up in time.
            logger.exception("A thread that read and answered steps by itself failed.")
            with line.lock:
                line.give_back()

    def _carry_out(self, line: Line) -> bool:
        """Takes the step that came, and answers it; whether the next one may be waited for."""
        assert self._under_way is not None
        pending, step, _ = self._under_way
        outcome = step.carry_out()
        with line.lock:
            if line.is_lent:
                pending.answered(step.share, outcome)
                self._under_way = None
                return line.is_lent
        self._thread.deliver(lambda answer: pending.answered(step.share, answer), outcome)
        return False

    def _answered(self, pending: PendingRequest, frames: Sequence[bytes]) -> None:
        del pending
        for frame in frames:
            self._link.keep(frame)
            self._line.write(frame)

    def _hear(self, line: Line) -> bool:
        """Waits awake for the next step; gives the line back where none comes, or anything else does."""
        until = time.monotonic() + AWAKE_SECONDS
        while True:
            with line.lock:
                message = line.read() if line.is_lent else None
                if message is not None and self._take(message):
                    return True
                if message is not None:
                    line.give_back_message(message)
                elif time.monotonic() >= until or self._thread.is_wanted:
                    line.give_back()
                if not line.is_lent:
                    return False
            give_way()

    def _take(self, message: bytes) -> bool:
        try:
            request = self._reader.read(message)
            step = self._lanes.thread_step(request) if type(request) is Step else None
            if type(request) is not Step or step is None or not _has_time(step):
                return False
            if not self._link.accept(message, request):
                return False
        except Exception:
            return False  # the event loop meets it again, and says what it is
        self._followed += 1
        self._start(request, step)
        return True

    def _when_ended(self) -> None:
        self._eagerness.note(has_paid=self._followed > 0)
        if self._under_way is not None:
            pending, step, began = self._under_way
            self._under_way = None
            self._lanes.take_up(pending, step.limit, began)


def _has_time(step: ThreadStep) -> bool:
    return step.limit is None or step.limit >= _SHORT_SECONDS
