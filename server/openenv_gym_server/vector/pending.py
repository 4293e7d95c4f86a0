"""A request that is not answered to its end: gathers what its lanes answer and makes the frames.

Used on the server's event loop; only ``Share.begin`` is called elsewhere, where the environment runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, cast

from openenv_gym_protocol.errors import ExecutionError, OpenEnvGymError, SessionError, StepTimeout

from openenv_gym_server.session import SessionState
from openenv_gym_server.vector.lane import Member
from openenv_gym_server.vector.parts import AnyPart, Part, ValuesPart, failed, rows_frames, values_frame
from openenv_gym_server.workers.base import Job

logger = logging.getLogger(__name__)

PATIENCE = 0.002
"""Seconds that the first result waits for the others, before it is sent without them."""


class Share:
    """What one member does for a request.

    Attributes:
        member: Whose environment does it.
        lanes: The lanes of that member that were asked for.
        positions: Where they stand in the request.
        job: Its work, where it is a job of its own.
        reason: Why nobody waits for it any more, though it had begun; None while somebody does.
    """

    __slots__ = ("_free", "job", "lanes", "member", "positions", "reason")

    def __init__(self, member: Member, lanes: Sequence[int], positions: Sequence[int]) -> None:
        self.member = member
        self.lanes = lanes
        self.positions = positions
        self.job: Job | None = None
        self.reason: str | None = None
        self._free = [True]

    def begin(self) -> bool:
        """Claims the work, for doing it or for dropping it: the first who asks has it. From any thread."""
        try:
            return self._free.pop()
        except IndexError:
            return False


class PendingRequest:
    """A request to some lanes.

    Args:
        request_id: Its id.
        kind: What its shares answer.
        max_bytes: The largest frame that the client accepts.
        send: Takes frames.
        ended: Called once, when the last frame was given to ``send``.

    Attributes:
        unsettled: The shares that have not answered.
        timer: Ends it at its deadline.
    """

    def __init__(
        self,
        request_id: int,
        kind: type[AnyPart],
        *,
        max_bytes: int,
        send: Callable[[bytes], None],
        ended: Callable[[PendingRequest], None],
    ) -> None:
        self.request_id = request_id
        self.kind = kind
        self.unsettled: dict[Share, None] = {}
        self.timer: asyncio.TimerHandle | None = None
        self._max_bytes = max_bytes
        self._send = send
        self._ended = ended
        self._parts: list[AnyPart] = []
        self._flush_timer: asyncio.TimerHandle | None = None

    def add(self, share: Share) -> None:
        """Adds a share, which has to answer."""
        self.unsettled[share] = None

    def fail(self, lanes: Sequence[int], error: OpenEnvGymError) -> None:
        """Notes lanes that were gone before the request came."""
        self._parts.append(failed(self.kind, lanes, error, lost=True))

    def settle_if_empty(self) -> None:
        """Ends a request of which nothing can be carried out."""
        if not self.unsettled:
            self._finish()

    def answered(self, share: Share, outcome: Any) -> None:
        """Takes what a share's work returned: its part, or None where it had been dropped before it began."""
        part = self._part_of(share, outcome)
        if part is not None:
            self.settle(share, part)

    def answered_together(self, outcomes: Sequence[tuple[Share, AnyPart | None]]) -> None:
        """Takes what was done for many shares one after another. Nothing is answered of a session that was lost."""
        for share, outcome in outcomes:
            if share.member.session.state is SessionState.OPEN:
                part = self._part_of(share, outcome)
                if part is not None:
                    self._note(share, part)
        self._send_what_is_due()

    def settle(self, share: Share, part: AnyPart) -> None:
        """Notes a share's answer, and sends what is due."""
        if share not in self.unsettled:
            return
        self._note(share, part)
        self._send_what_is_due()

    def _note(self, share: Share, part: AnyPart) -> None:
        del self.unsettled[share]
        share.job = None  # which holds the share: what is released by itself needs no garbage collection
        self._parts.append(part)

    def _part_of(self, share: Share, outcome: Any) -> AnyPart | None:
        if outcome is None or share not in self.unsettled:
            return None
        if isinstance(outcome, BaseException):
            error = outcome if isinstance(outcome, OpenEnvGymError) else ExecutionError(f"{outcome!r}")
            outcome = failed(self.kind, share.lanes, error)
        if share.reason is not None and outcome.failures:
            # It was stopped; whatever its environment made of that is no failure of its own.
            outcome = failed(self.kind, share.lanes, StepTimeout(share.reason))
        part: AnyPart = outcome
        return part

    def lose(self, member: Member, error: OpenEnvGymError) -> None:
        """Fails what a member that is gone has not answered."""
        for share in [share for share in self.unsettled if share.member is member]:
            share.begin()  # so that it never will
            self.settle(share, failed(self.kind, share.lanes, error, lost=True))

    def drop(self) -> None:
        """Sends nothing any more."""
        for share in self.unsettled:
            share.begin()  # so that it never will
        self.unsettled.clear()
        self._stop_timers()

    def _send_what_is_due(self) -> None:
        if not self._parts:
            return
        if not self.unsettled:
            self._finish()
        elif self.kind is Part and self._flush_timer is None:
            self._flush_timer = asyncio.get_running_loop().call_later(PATIENCE, self._flush)

    def _flush(self) -> None:
        self._flush_timer = None
        self._send_parts(more=True)

    def _finish(self) -> None:
        self._stop_timers()
        self._send_parts(more=False)
        self._ended(self)

    def _send_parts(self, *, more: bool) -> None:
        parts, self._parts = self._parts, []
        try:
            frames = self._frames(parts, more=more)
        except Exception as error:
            # A client that is told nothing would wait for ever.
            logger.error("An answer could not be written by a fault of the server.", exc_info=error)
            fault = SessionError("The server failed; its log says how.")
            lanes = [lane for part in parts for lane in part.lanes]
            failures = [failure for part in parts for failure in part.failures]
            frames = self._frames([failed(self.kind, lanes, fault), self.kind(failures=failures)], more=more)
        for frame in frames:
            self._send(frame)

    def _frames(self, parts: Sequence[AnyPart], *, more: bool) -> list[bytes]:
        if self.kind is Part:
            return rows_frames(self.request_id, cast(list[Part], parts), more=more, max_bytes=self._max_bytes)
        return [values_frame(self.request_id, cast(list[ValuesPart], parts), self._max_bytes)]

    def _stop_timers(self) -> None:
        for timer in (self.timer, self._flush_timer):
            if timer is not None:
                timer.cancel()
