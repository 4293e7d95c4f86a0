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
from functools import partial
from typing import Any, Protocol

import msgspec
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


class ThreadLanes(Protocol):
    """The lanes of a link."""

    def thread_step(self, request: Step) -> ThreadStep | None:
        """The step of lanes that are all on the thread; None where it is not that."""

    def answer(self, request_id: int, step: ThreadStep, outcome: Any) -> Sequence[bytes]:
        """The frames that answer a step, of which nobody else knows."""

    def take_up(self, request_id: int, step: ThreadStep, began: float) -> PendingRequest:
        """Takes a step that is under way as one that came the usual way, at that time of the monotonic clock."""


class _UnderWay(msgspec.Struct, gc=False):
    """A step that the thread has taken up, and carries out even if the line is taken back before it begins.

    Attributes:
        request_id: The request.
        step: The step.
        began: When it came, on the monotonic clock.
        pending: What waits for it, once the line was taken back.
    """

    request_id: int
    step: ThreadStep
    began: float
    pending: PendingRequest | None = None


class DirectSteps:
    """The steps of the lanes of one thread.

    Args:
        thread: The thread.
        lanes: The lanes.
        link: Their link.
    """

    def __init__(self, thread: WorkThread, lanes: ThreadLanes, link: LinkEnd) -> None:
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
        self._thread.put(partial(self._run, line, self._started(request, step)))
        return True

    def _started(self, request: Step, step: ThreadStep) -> _UnderWay:
        self._under_way = under_way = _UnderWay(request.id, step, self._line.heard_at)
        return under_way

    def _run(self, line: Line, first: _UnderWay) -> None:
        under_way: _UnderWay | None = first
        try:
            while under_way is not None:
                under_way = self._hear(line) if self._carry_out(line, under_way) else None
        except BaseException:
            # What is under way then is the event loop's, which gives it up in time.
            logger.exception("A thread that read and answered steps by itself failed.")
            with line.lock:
                line.give_back()

    def _carry_out(self, line: Line, under_way: _UnderWay) -> bool:
        """Takes a step, whosever the line is by now, and answers it; whether the next one may be waited for."""
        step = under_way.step
        outcome = step.carry_out()
        with line.lock:
            if line.is_lent:
                for frame in self._lanes.answer(under_way.request_id, step, outcome):
                    self._link.keep(frame)
                    line.write(frame)
                self._under_way = None
                return line.is_lent
        assert under_way.pending is not None
        self._thread.deliver(partial(under_way.pending.answered, step.share), outcome)
        return False

    def _hear(self, line: Line) -> _UnderWay | None:
        """Waits awake for the next step; gives the line back where none comes, or anything else does."""
        until = time.monotonic() + AWAKE_SECONDS
        while True:
            with line.lock:
                message = line.read() if line.is_lent else None
                under_way = None if message is None else self._taken(message)
                if under_way is not None:
                    return under_way
                if message is not None:
                    line.give_back_message(message)
                elif time.monotonic() >= until or self._thread.is_wanted:
                    line.give_back()
                if not line.is_lent:
                    return None
            give_way()

    def _taken(self, message: bytes) -> _UnderWay | None:
        try:
            request = self._reader.read(message)
            step = self._lanes.thread_step(request) if type(request) is Step else None
            if type(request) is not Step or step is None or not _has_time(step):
                return None
            if not self._link.accept(message, request):
                return None
        except Exception:
            return None  # the event loop meets it again, and says what it is
        self._followed += 1
        return self._started(request, step)

    def _when_ended(self) -> None:
        self._eagerness.note(has_paid=self._followed > 0)
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.pending = self._lanes.take_up(under_way.request_id, under_way.step, under_way.began)


def _has_time(step: ThreadStep) -> bool:
    return step.limit is None or step.limit >= _SHORT_SECONDS
