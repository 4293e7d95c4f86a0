"""The lanes of one connection at work: opens them, gives them what is asked, gives up what is late, and ends them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.errors import CapacityReached, OpenEnvGymError, SessionLost, StepTimeout
from openenv_gym_protocol.vector.frames import Open, Step
from openenv_gym_protocol.vector.lane_rules import LaneRules

from openenv_gym_server.dispatch import Host
from openenv_gym_server.loops import run_to_end
from openenv_gym_server.service import Service
from openenv_gym_server.session import Session, SessionState
from openenv_gym_server.vector.asking import Asking, LanesRequest, StepAsking, asking, kind_of, step_asking
from openenv_gym_server.vector.gathering import Gathering
from openenv_gym_server.vector.lane import LaneDriver, Member, Work, guarded
from openenv_gym_server.vector.lanes import Lanes
from openenv_gym_server.vector.many import ManyDriver
from openenv_gym_server.vector.offer import Offer
from openenv_gym_server.vector.parts import Part, Row, joined
from openenv_gym_server.vector.pending import PendingRequest
from openenv_gym_server.vector.shares import Series, Share
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
        send: Takes the frames that answer what was asked.
        answered: Called with the id of each request that was answered to its end.

    Attributes:
        client_bytes: The largest frame that the client accepts.
    """

    def __init__(
        self, service: Service, offer: Offer, send: Callable[[bytes], None], answered: Callable[[int], None]
    ) -> None:
        self.client_bytes = 0
        self._service = service
        self._offer = offer
        self._send = send
        self._when_ended = answered
        self._lanes = Lanes()
        self._being_opened = 0
        self._pending: dict[int, PendingRequest] = {}
        self._when_answered: dict[int, list[Callable[[], None]]] = {}
        self._thread: WorkThread | None = None

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
            return await (self._open_many if self._offer.traits.has_arrays else self._open_each)(request, mode)
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
            share.member.closed.update(share.lanes)
        return [share.member for share in shares if share.member.has_ended]

    async def close(self, members: Sequence[Member]) -> None:
        """Closes members once everything before has been carried out, and waits until their slots are free."""
        await asyncio.gather(*(self._close(member) for member in members))

    def ask(self, request: LanesRequest) -> None:
        """Has a request carried out.

        Raises:
            OpenEnvGymError: It cannot be; nothing was done.
        """
        limit = None if self._service.config.debug else getattr(request, "deadline", None)
        if isinstance(request, Step) and self._thread is not None and not self._offer.traits.has_arrays:
            drivers, positions, gone = self._lanes.drivers(request.lanes)
            asked = step_asking(request, self._offer, limit)
            series = Series(drivers, positions)
            pending = self._awaited(request, [series] if drivers else [], gone, limit)
            if drivers:
                self._thread.put(partial(_step_series, self._thread, pending, asked, series))
            return
        shares, gone = self._lanes.shares(request.lanes)
        work_of = asking(request, shares, self._offer, limit)
        pending = self._awaited(request, shares, gone, limit)
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
        for pending in self._pending.values():
            pending.drop()
        self._pending.clear()
        for member in list(self._lanes.members()):
            self._end(member)
        if self._thread is not None:
            self._thread.end()

    def _awaited(
        self, request: LanesRequest, shares: Sequence[Share | Series], gone: Sequence[int], limit: float | None
    ) -> PendingRequest:
        """Waits for the answers of shares; of none, the request is answered at once."""
        pending = PendingRequest(
            request.id, kind_of(request), max_bytes=self.client_bytes, send=self._send, ended=self._answered
        )
        self._pending[request.id] = pending
        for lane in gone:
            pending.fail([lane], SessionLost(self._lanes.why_gone(lane)))
        for share in shares:
            pending.add(share)
        if not shares:
            pending.settle_if_empty()
        elif limit is not None:
            pending.timer = asyncio.get_running_loop().call_later(limit, self._give_up_late, pending, limit)
        return pending

    async def _open_each(self, request: Open, mode: AutoresetMode) -> list[int]:
        traits = self._offer.traits
        sessions = await self._service.sessions.open_lanes(request.lanes, thread=self._inline_thread)
        numbers = self._lanes.numbers(request.lanes)
        for number, session in zip(numbers, sessions, strict=True):
            rules = LaneRules(
                mode,
                request.max_episode_steps,
                seed_supported=traits.seed_supported,
                seeded_stream=traits.seeded_stream,
            )
            self._lanes.add(LaneDriver(self._member(request, session, (number,)), rules))
        return numbers

    async def _open_many(self, request: Open, mode: AutoresetMode) -> list[int]:
        self._offer.require_layouts()
        arguments: dict[str, Any] = {"autoreset": str(mode)}
        if request.max_episode_steps is not None:
            arguments["max_episode_steps"] = request.max_episode_steps
        session = await self._service.sessions.open_vector(request.lanes, thread=self._inline_thread, **arguments)
        numbers = self._lanes.numbers(request.lanes)
        member = self._member(request, session, tuple(numbers))
        member.is_many = True
        try:
            driver = ManyDriver(member, mode)
        except BaseException:
            # Nobody else knows of the session.
            session.on_lost = None
            self._service.sessions.close(session)
            raise
        self._lanes.add(driver)
        return numbers

    def _member(self, request: Open, session: Session, lanes: tuple[int, ...]) -> Member:
        member = Member(
            session=session,
            lanes=lanes,
            offer=self._offer,
            options=request.options,
            render_mode=request.render_mode,
        )
        session.on_lost = partial(self._lost, member)
        session.host.as_columns = self._offer.observations is not None
        return member

    def _inline_thread(self) -> WorkThread | None:
        """The one thread of this connection's inline lanes: a batch of them must not hold up the event loop."""
        if self._offer.traits.execution != "inline":
            return None
        if self._thread is None:
            try:
                self._thread = WorkThread(asyncio.get_running_loop(), "openenv-gym-lanes")
            except RuntimeError as error:
                raise CapacityReached(f"The server has no thread for another connection: {error}.") from error
        return self._thread

    def _job(self, pending: PendingRequest, share: Share, work_of: Asking, limit: float | None) -> Job:
        session = share.member.session
        reply = partial(pending.answered, share)
        work = guarded(pending.kind, share.lanes, work_of(share, self._lanes.driver(share.member)))
        return session.job(_claimed(share, work, limit), reply)

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
            worker.call(partial(_step_alone, asked, share, driver, gathering))

    def _submit(self, shares: Sequence[Share], jobs: Sequence[Job]) -> None:
        together = []
        for share, job in zip(shares, jobs, strict=True):
            session, share.job = share.member.session, job
            if self._thread is not None and session.home is self._thread:
                together.append(job)
            else:
                session.worker.submit(job)
        if together and self._thread is not None:
            self._thread.put(partial(_carry_out, self._thread, together))

    def _answered(self, pending: PendingRequest, frames: Sequence[bytes]) -> None:
        del self._pending[pending.request_id]
        self._when_ended(pending.request_id)
        for frame in frames:
            self._send(frame)
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
        member.closed.update(member.lanes)
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
        member.closed.update(member.lanes)
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


def _step_series(thread: WorkThread, pending: PendingRequest, asked: StepAsking, series: Series) -> None:
    """Steps lanes one after another, and hands all results to the event loop at once."""
    answers: list[Part | Row] = []
    while (place := series.claim()) is not None:
        driver = series.drivers[place]
        if driver.lane not in series.settled:
            answers.append(asked.at_once(driver, series.positions[place]))
    thread.deliver(partial(pending.answered, series), joined(answers))


def _step_alone(asked: StepAsking, share: Share, driver: LaneDriver, gathering: Gathering) -> None:
    gathering.put(share, asked.at_once(driver, share.positions[0]) if share.begin() else None)


def _carry_out(thread: WorkThread, jobs: Sequence[Job]) -> None:
    """Runs the jobs of a batch one after another, and hands all results to the event loop at once."""
    results = [run_to_end(job.work()) for job in jobs]
    thread.deliver(_reply_all, [(job.reply, result) for job, result in zip(jobs, results, strict=True)])


def _reply_all(replies: Sequence[tuple[Callable[[Any], None], Any]]) -> None:
    for reply, result in replies:
        try:
            reply(result)
        except Exception:
            # The other lanes' answers go out all the same.
            logger.exception("An answer was lost by a fault of the server.")


async def _nothing(_: Host) -> None:
    """Ends when all that was asked before has ended."""
