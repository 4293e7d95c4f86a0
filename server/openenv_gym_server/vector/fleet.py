"""The lanes of one connection at work: opens them, gives them what is asked, gives up what is late, and ends them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from openenv_gym_protocol.errors import CapacityReached, OpenEnvGymError, SessionLost, StepTimeout
from openenv_gym_protocol.vector.frames import Open, Step

from openenv_gym_server.dispatch import Host
from openenv_gym_server.service import Service
from openenv_gym_server.session import SessionState
from openenv_gym_server.vector.asking import Asking, LanesRequest, StepAsking, asking, kind_of
from openenv_gym_server.vector.direct_steps import DirectSteps, LinkEnd
from openenv_gym_server.vector.gathering import Gathering
from openenv_gym_server.vector.lane import LaneDriver, Member, Work, guarded
from openenv_gym_server.vector.lanes import Lanes
from openenv_gym_server.vector.offer import Offer
from openenv_gym_server.vector.opening import LaneOpener
from openenv_gym_server.vector.parts import Part, ValuesPart
from openenv_gym_server.vector.pending import PendingRequest
from openenv_gym_server.vector.rows_writer import RowsWriter
from openenv_gym_server.vector.shares import Series, Share
from openenv_gym_server.vector.step_maker import StepMaker
from openenv_gym_server.vector.thread_steps import ThreadStep, carry_out, step_alone, step_on
from openenv_gym_server.workers.base import Job
from openenv_gym_server.workers.thread import ThreadWorker, WorkThread

logger = logging.getLogger(__name__)

_GRACE = 1.0
"""Seconds in which a call that shares its thread or loop with other lanes may end after it was given up."""


class Fleet:
    """The lanes of one link.

    Args:
        service: The server's parts.
        offer: What it offers.
        link: The link that they belong to.

    Attributes:
        client_bytes: The largest frame that the client accepts.
    """

    def __init__(self, service: Service, offer: Offer, link: LinkEnd) -> None:
        self.client_bytes = 0
        self._service = service
        self._offer = offer
        self._link = link
        self._lanes = Lanes()
        self._opener = LaneOpener(service, offer, self._lanes, thread=self._inline_thread, lost=self._lost)
        self._being_opened = 0
        self._steps = StepMaker(offer, self._lanes)
        self._pending: dict[int, PendingRequest] = {}
        self._when_answered: dict[int, list[Callable[[], None]]] = {}
        self._writer = RowsWriter()
        self._thread: WorkThread | None = None
        self._direct: DirectSteps | None = None

    @property
    def size(self) -> int:
        """How many lanes there are, with those that are being opened."""
        return len(self._lanes) + self._being_opened

    def has_pending(self, request_id: int) -> bool:
        """Whether a request is not answered to its end."""
        return request_id in self._pending

    async def open(self, request: Open) -> list[int]:
        """Opens lanes.

        Returns:
            Their numbers.

        Raises:
            CapacityReached: The server, or this connection, has not so many lanes to give.
            FactoryError: An environment could not be made.
            ValidationFailure: Something was asked for that there is not.
        """
        mode = self._offer.check_open(request)
        allowed, taken = self._service.config.max_lanes, self.size
        if taken + request.lanes > allowed:
            raise CapacityReached(
                f"{request.lanes} more lanes were asked for; this connection has {taken} and may have {allowed}.",
                active_sessions=taken,
                max_sessions=allowed,
            )
        self._being_opened += request.lanes
        try:
            return await self._opener.open(request, mode)
        finally:
            self._being_opened -= request.lanes

    def abandon(self, lanes: Sequence[int]) -> None:
        """Ends lanes at once."""
        shares, _ = self._lanes.shares(lanes)
        for share in shares:
            self._end(share.member)

    def closing(self, lanes: Sequence[int]) -> list[Member]:
        """Takes no more requests for lanes that are to be closed.

        Returns:
            The members to close: those of which no lane is left.

        Raises:
            InvalidMessage: A lane was never opened.
        """
        shares, _ = self._lanes.shares(lanes)
        for share in shares:
            self._lanes.close(share.member, share.lanes)
        return [share.member for share in shares if share.member.has_ended]

    async def close(self, members: Sequence[Member]) -> None:
        """Closes members once everything before has been carried out, and waits until their slots are free."""
        await asyncio.gather(*(self._close(member) for member in members))

    def ask(self, request: LanesRequest) -> None:
        """Has a request carried out.

        Raises:
            OpenEnvGymError: It cannot be; nothing was done.
        """
        if isinstance(request, Step) and (step := self.thread_step(request)) is not None:
            assert self._thread is not None
            assert self._direct is not None
            if not self._direct.begin(request, step):
                pending = self._awaited(self._unanswered(request.id, Part, [step.share]), step.limit)
                self._thread.put(partial(step_on, self._thread, pending, step))
            return
        limit = self._limit(request)
        shares, gone = self._lanes.shares(request.lanes)
        work_of = asking(request, shares, self._offer, limit)
        pending = self._awaited(self._unanswered(request.id, kind_of(request), shares, gone), limit)
        if isinstance(work_of, StepAsking) and not self._offer.traits.has_arrays and self._on_threads:
            self._step_apart(pending, work_of, shares)
        else:
            self._submit(shares, [self._job(pending, share, work_of, limit) for share in shares])

    def cancel(self, request_id: int, done: Callable[[], None]) -> bool:
        """Gives up a request.

        Args:
            request_id: The request.
            done: Called when all its lanes have answered or are lost.

        Returns:
            Whether there was anything to give up.
        """
        pending = self._pending.get(request_id)
        if pending is None:
            return False
        self._when_answered.setdefault(request_id, []).append(done)
        self._give_up(pending, "The request was cancelled.")
        return True

    def end(self) -> None:
        """Ends all lanes, and sends nothing any more."""
        self._link.take_back()
        for pending in self._pending.values():
            pending.drop()
        self._pending.clear()
        for member in list(self._lanes.members()):
            self._end(member)
        if self._thread is not None:
            self._thread.end()

    def thread_step(self, request: Step) -> ThreadStep | None:
        """The step of lanes that are all here and on this connection's thread; None where it is not that.

        Raises:
            OpenEnvGymError: It cannot be carried out; nothing was done.
        """
        if self._thread is None:
            return None
        return self._steps.step(request, self._limit(request), self._thread)

    def answer(self, request_id: int, step: ThreadStep, outcome: Any) -> Sequence[bytes]:
        """The frames that answer a step that the thread has carried out by itself: there, under the line's lock."""
        try:
            frame = self._writer.frame(request_id, outcome) if type(outcome) is Part else None
        except Exception:
            # A client that is told nothing would wait for ever.
            logger.exception("An answer of a known form could not be written by a fault of the server.")
            frame = None
        if frame is not None and len(frame) <= self.client_bytes:
            return [frame]
        frames: list[bytes] = []
        pending = self._unanswered(request_id, Part, [step.share], by_form=False)
        pending.ended = lambda _, written: frames.extend(written)
        pending.answered(step.share, outcome)
        return frames

    def take_up(self, request_id: int, step: ThreadStep, began: float) -> PendingRequest:
        """Takes a step that the thread carries out by itself as one that came the usual way.

        Args:
            request_id: The request.
            step: The step.
            began: Since when, on the monotonic clock.
        """
        self._link.note_under_way(request_id)
        return self._awaited(self._unanswered(request_id, Part, [step.share]), step.limit, began)

    def _unanswered(
        self,
        request_id: int,
        kind: type[Part] | type[ValuesPart],
        shares: Sequence[Share | Series],
        gone: Sequence[int] = (),
        *,
        by_form: bool = True,
    ) -> PendingRequest:
        pending = PendingRequest(
            request_id,
            kind,
            max_bytes=self.client_bytes,
            send=self._link.send,
            ended=self._answered,
            writer=self._writer if by_form else None,
        )
        for lane in gone:
            pending.fail([lane], SessionLost(self._lanes.why_gone(lane)))
        for share in shares:
            pending.add(share)
        return pending

    def _awaited(self, pending: PendingRequest, limit: float | None, began: float | None = None) -> PendingRequest:
        """Waits for the answers of shares; of none, the request is answered at once."""
        self._pending[pending.request_id] = pending
        if not pending.unsettled:
            pending.settle_if_empty()
        elif limit is not None:
            left = limit if began is None else max(0.0, limit - (time.monotonic() - began))
            pending.timer = asyncio.get_running_loop().call_later(left, self._give_up_late, pending, limit)
        return pending

    def _limit(self, request: LanesRequest) -> float | None:
        return None if self._service.config.debug else getattr(request, "deadline", None)

    def _inline_thread(self) -> WorkThread | None:
        """The one thread of this connection's inline lanes: a batch of them must not hold up the event loop."""
        if self._offer.traits.execution != "inline":
            return None
        if self._thread is None:
            try:
                self._thread = WorkThread(asyncio.get_running_loop(), "openenv-gym-lanes")
            except RuntimeError as error:
                raise CapacityReached(f"The server has no thread for another connection: {error}.") from error
            self._direct = DirectSteps(self._thread, self, self._link)
        return self._thread

    def _job(self, pending: PendingRequest, share: Share, work_of: Asking, limit: float | None) -> Job:
        work = guarded(pending.kind, share.lanes, work_of(share, self._lanes.driver(share.member)))
        return share.member.session.job(_claimed(share, work, limit), partial(pending.answered, share))

    @property
    def _on_threads(self) -> bool:
        return self._offer.traits.execution == "thread"

    def _step_apart(self, pending: PendingRequest, asked: StepAsking, shares: Sequence[Share]) -> None:
        """Steps lanes on their own threads, which hand their answers on together."""
        if not shares:
            return
        gathering = Gathering(pending, len(shares))
        for share in shares:
            driver = cast(LaneDriver, self._lanes.driver(share.member))
            worker = cast(ThreadWorker, share.member.session.worker)
            worker.call(partial(step_alone, asked, share, driver, gathering))

    def _submit(self, shares: Sequence[Share], jobs: Sequence[Job]) -> None:
        together = []
        for share, job in zip(shares, jobs, strict=True):
            session, share.job = share.member.session, job
            if self._thread is not None and session.home is self._thread:
                together.append(job)
            else:
                session.worker.submit(job)
        if together and self._thread is not None:
            self._thread.put(partial(carry_out, self._thread, together))

    def _answered(self, pending: PendingRequest, frames: Sequence[bytes]) -> None:
        del self._pending[pending.request_id]
        for frame in frames[:-1]:
            self._link.send(frame)
        self._link.answered(pending.request_id)  # before the last frame, after which a server that ends closes
        self._link.send(frames[-1])
        for done in self._when_answered.pop(pending.request_id, ()):
            done()

    def _give_up_late(self, pending: PendingRequest, limit: float) -> None:
        self._give_up(pending, f"The request was given up {limit:g} s after it came.")

    def _give_up(self, pending: PendingRequest, reason: str) -> None:
        for share in pending.give_up(reason):
            self._stop(pending, share)

    def _stop(self, pending: PendingRequest, share: Share | Series) -> None:
        member, interrupt = share.at_work, self._service.sessions.interrupt
        interrupted = isinstance(share, Share) and share.job is not None and interrupt(share.member.session, share.job)
        if interrupted or member is None or member.session.home is not None:
            # Its thread or loop is that of other lanes too, which should not pay for what is about to end; or it has
            # ended just now, and its answer is on the way.
            asyncio.get_running_loop().call_later(_GRACE, self._lose, pending, share)
        else:
            self._lose(pending, share)

    def _lose(self, pending: PendingRequest, share: Share | Series) -> None:
        if share not in pending.unsettled:
            return
        member, reason = share.at_work, share.reason or "It was given up."
        if member is None:
            # Not this lane is late: its answer waits for that of another in the same batch, or is on the way.
            asyncio.get_running_loop().call_later(_GRACE, self._lose, pending, share)
            return
        traits = self._offer.traits
        if traits.single_thread and traits.execution == "thread":
            # All sessions of the server share this thread: only the server's own limit calls it hung.
            self._lost(member, StepTimeout(reason))
            self._service.sessions.close(member.session)
        else:
            self._service.sessions.give_up(member.session, f"a call. {reason}")

    def _lost(self, member: Member, error: OpenEnvGymError) -> None:
        self._link.take_back()
        self._lanes.lose(member, error.message)
        session = member.session
        if self._thread is not None and session.home is self._thread and session.state is SessionState.HUNG:
            # The others that share it are lost as well, and it ends if it ever comes back.
            # Not before what is lost now has been given its last job.
            asyncio.get_running_loop().call_soon(self._thread.end)
            self._thread = None
        for pending in list(self._pending.values()):
            pending.lose(member, error)

    async def _close(self, member: Member) -> None:
        session = member.session
        try:
            await session.call(_nothing, now=self._service.now())
        except OpenEnvGymError:
            # Lost while its last call ran: it is gone all the same.
            logger.debug("Session %s ended before it was closed.", session.session_id)
        self._lanes.remove(member)
        self._service.sessions.close(session)
        if session.holds_slot:
            with suppress(TimeoutError):
                await asyncio.wait_for(session.ended.wait(), self._service.config.disconnect_grace)

    def _end(self, member: Member) -> None:
        member.session.on_lost = None
        self._lanes.remove(member)
        self._service.sessions.close(member.session)


def _claimed(share: Share, work: Work, limit: float | None) -> Work:
    async def claimed(host: Host) -> Any:
        if not share.begin():
            return None
        host.patience = limit
        try:
            return await work(host)
        finally:
            host.patience = None

    return claimed


async def _nothing(_: Host) -> None:
    """Ends when all that was asked before has ended."""
