"""A request that is not answered to its end: gathers what its lanes answer and makes the frames.

Used on the server's event loop, or by the thread that carried it out, where nobody else knows of it (``Fleet.answer``);
``Share.begin`` and ``Series.claims`` are called wherever the environment runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, cast

from openenv_gym_protocol.errors import ExecutionError, OpenEnvGymError, SessionError, StepTimeout

from openenv_gym_server.vector.lane import Member
from openenv_gym_server.vector.parts import Answer, Part, Row, ValuesPart, failed, rows_frames, values_frame, without
from openenv_gym_server.vector.rows_writer import RowsWriter
from openenv_gym_server.vector.shares import Series, Share

logger = logging.getLogger(__name__)

PATIENCE = 0.002
"""Seconds that the first result waits for the others, before it is sent without them."""


class PendingRequest:
    """A request to some lanes.

    Args:
        request_id: Its id.
        kind: What its shares answer.
        max_bytes: The largest frame that the client accepts.
        send: Takes frames.
        ended: Called once, with the last frames, which it gives to ``send``: by then nothing is under way.
        writer: Writes what has a known form.

    Attributes:
        ended: As it was given; whoever takes the request over sets another.
        unsettled: The shares that have not answered.
        timer: Ends it at its deadline.
    """

    def __init__(
        self,
        request_id: int,
        kind: type[Part] | type[ValuesPart],
        *,
        max_bytes: int,
        send: Callable[[bytes], None],
        ended: Callable[[PendingRequest, Sequence[bytes]], None],
        writer: RowsWriter | None = None,
    ) -> None:
        self.request_id = request_id
        self.kind = kind
        self.unsettled: dict[Share | Series, None] = {}
        self.timer: asyncio.TimerHandle | None = None
        self._max_bytes = max_bytes
        self._writer = writer
        self._send = send
        self.ended = ended
        self._answers: list[Answer] = []
        self._flush_timer: asyncio.TimerHandle | None = None
        self._is_held = False

    def add(self, share: Share | Series) -> None:
        """Adds a share, which has to answer."""
        self.unsettled[share] = None

    def fail(self, lanes: Sequence[int], error: OpenEnvGymError) -> None:
        """Notes lanes that were gone before the request came."""
        self._answers.append(failed(self.kind, lanes, error, lost=True))

    def settle_if_empty(self) -> None:
        """Ends a request of which nothing can be carried out."""
        if not self.unsettled:
            self._finish()

    def answered(self, share: Share | Series, outcome: Any) -> None:
        """Takes what a share's work returned: its answer, or None where it had been dropped before it began."""
        if outcome is None or share not in self.unsettled:
            return
        if isinstance(outcome, BaseException):
            error = outcome if isinstance(outcome, OpenEnvGymError) else ExecutionError(f"{outcome!r}")
            outcome = failed(self.kind, share.lanes, error)
        if share.settled:
            # Those have been answered meanwhile.
            outcome = without(outcome, share.settled)
        if share.reason is not None and not isinstance(outcome, tuple) and outcome.failures:
            # It was stopped; whatever its environment made of that is no failure of its own.
            lanes = [failure.lane for failure in outcome.failures]
            outcome.failures = failed(self.kind, lanes, StepTimeout(share.reason)).failures
        self.settle(share, outcome)

    def answered_together(self, outcomes: Sequence[tuple[Share, Part | Row | None]]) -> None:
        """Takes what many shares' work returned, and sends nothing in between."""
        self._is_held = True
        try:
            for share, outcome in outcomes:
                self.answered(share, outcome)
        finally:
            self._is_held = False
            self._send_what_is_due()

    def settle(self, share: Share | Series, answer: Answer) -> None:
        """Notes a share's answer, and sends what is due."""
        if share not in self.unsettled:
            return
        del self.unsettled[share]
        share.job = None  # which holds the share: what is released by itself needs no garbage collection
        self._answers.append(answer)
        self._send_what_is_due()

    def give_up(self, reason: str) -> list[Share | Series]:
        """Answers what has not begun: nothing was done, and the lanes go on.

        Returns:
            The shares that have begun, and that nobody waits for any more from now on.
        """
        begun = []
        for share in list(self.unsettled):
            self._fail(share, share.drop(), StepTimeout(reason))
            if share in self.unsettled and share.reason is None:
                share.reason = reason
                begun.append(share)
        return begun

    def lose(self, member: Member, error: OpenEnvGymError) -> None:
        """Fails what a member that is gone has not answered."""
        for share in list(self.unsettled):
            self._fail(share, share.lose(member), error, lost=True)

    def drop(self) -> None:
        """Sends nothing any more."""
        for share in self.unsettled:
            share.drop()  # so that it never begins
        self.unsettled.clear()
        self._stop_timers()

    def _fail(self, share: Share | Series, lanes: Sequence[int], error: OpenEnvGymError, *, lost: bool = False) -> None:
        if not lanes:
            return
        answer = failed(self.kind, lanes, error, lost=lost)
        if share.is_settled:
            self.settle(share, answer)
        else:
            self._answers.append(answer)
            self._send_what_is_due()

    def _send_what_is_due(self) -> None:
        if not self._answers or self._is_held:
            return
        if not self.unsettled:
            self._finish()
        elif self.kind is Part and self._flush_timer is None:
            self._flush_timer = asyncio.get_running_loop().call_later(PATIENCE, self._flush)

    def _flush(self) -> None:
        self._flush_timer = None
        for frame in self._written(more=True):
            self._send(frame)

    def _finish(self) -> None:
        self._stop_timers()
        self.ended(self, self._written(more=False))

    def _written(self, *, more: bool) -> list[bytes]:
        answers, self._answers = self._answers, []
        try:
            return self._frames(answers, more=more)
        except Exception as error:
            # A client that is told nothing would wait for ever.
            logger.error("An answer could not be written by a fault of the server.", exc_info=error)
            fault = SessionError("The server failed; its log says how.")
            lanes = [lane for answer in answers for lane in _lanes_of(answer)]
            failures = [failure for answer in answers if not isinstance(answer, tuple) for failure in answer.failures]
            return self._frames([failed(self.kind, lanes, fault), self.kind(failures=failures)], more=more)

    def _frames(self, answers: Sequence[Answer], *, more: bool) -> list[bytes]:
        if self.kind is Part:
            rows = cast(list[Part | Row], answers)
            frame = self._in_one_piece(rows) if not more else None
            if frame is not None:
                return [frame]
            return rows_frames(self.request_id, rows, more=more, max_bytes=self._max_bytes)
        return [values_frame(self.request_id, cast(list[ValuesPart], answers), self._max_bytes)]

    def _in_one_piece(self, answers: Sequence[Part | Row]) -> bytes | None:
        if self._writer is None or len(answers) != 1 or not isinstance(answers[0], Part):
            return None
        frame = self._writer.frame(self.request_id, answers[0])
        return frame if frame is not None and len(frame) <= self._max_bytes else None

    def _stop_timers(self) -> None:
        for timer in (self.timer, self._flush_timer):
            if timer is not None:
                timer.cancel()


def _lanes_of(answer: Answer) -> Sequence[int]:
    return (answer[0],) if isinstance(answer, tuple) else answer.lanes
