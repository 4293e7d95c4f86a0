"""All sessions of a server: who gets one, how long it lives, and what happens when its code does not return."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from openenv_gym_protocol.errors import (
    CapacityReached,
    FactoryError,
    OpenEnvGymError,
    SessionError,
    SessionLost,
    StepTimeout,
)

from openenv_gym_server.capacity import Capacity
from openenv_gym_server.contract import Contract
from openenv_gym_server.counters import Counters, Tally
from openenv_gym_server.homes import Homes
from openenv_gym_server.session import Session, SessionState
from openenv_gym_server.slots import Slots
from openenv_gym_server.workers.base import AnyJob, Job
from openenv_gym_server.workers.thread import WorkThread

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_MAX_TRANSIENT = 32
"""Environments made for one call each, at a time."""
_BLOCK_LOGGED_AFTER = 1.0
"""Seconds after which a blocked async loop is logged."""


class Sessions:
    """Opens, finds, watches and closes sessions. Used on the server's event loop only.

    Args:
        contract: What all sessions have in common.
        max_sessions: How many there may be.
        counters: Where to count.
        clock: The monotonic clock, in seconds.
    """

    def __init__(
        self,
        contract: Contract,
        *,
        max_sessions: int,
        counters: Counters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.contract = contract
        self.capacity = Capacity(max_sessions)
        self.counters = counters
        self.last_construction: FactoryError | bool = False
        """True after a success, the error after a failure, False before the first one."""
        self._transient = Capacity(min(max_sessions, _MAX_TRANSIENT))
        self._clock = clock
        self._homes = Homes(contract.definition.traits, counters)
        self._sessions: dict[str, Session] = {}
        self._slots = Slots(counters, clock, contract.config.max_sessions_per_peer)
        self._sweep: asyncio.TimerHandle | None = None

    async def open(self, *, socket: bool) -> Session:
        """Opens a session.

        Args:
            socket: It lives as long as a socket, which its owner closes; otherwise it has a time to live.

        Raises:
            CapacityReached: The server stayed full for as long as it lets clients wait.
            FactoryError: The environment could not be made.
            StepTimeout: Making it passed its deadline.
        """
        session = await _begun(lambda: self._open(self.capacity, socket=socket))
        self.counters.sessions_opened += 1
        return session

    async def open_lanes(self, count: int, *, thread: Callable[[], WorkThread | None] = lambda: None) -> list[Session]:
        """Opens sessions for the lanes of one connection, all of them or none.

        Args:
            count: How many.
            thread: Gives the thread in which inline environments run instead of the event loop.

        Raises:
            CapacityReached: So many slots did not become free for as long as the server lets clients wait.
            FactoryError: An environment could not be made.
            StepTimeout: Making one passed its deadline.
        """
        opened = await _begun(lambda: self._open_lanes(count, thread()))
        self.counters.sessions_opened += count
        return opened

    async def open_vector(
        self, count: int, *, thread: Callable[[], WorkThread | None] = lambda: None, **arguments: Any
    ) -> Session:
        """Opens one session whose environment has many lanes; same errors as ``open_lanes``.

        Args:
            count: How many lanes, each of which takes a slot.
            thread: Gives the thread in which inline environments run instead of the event loop.
            **arguments: What the environment's constructor is given besides ``num_envs``.
        """
        session = await _begun(lambda: self._open_vector(count, thread(), arguments))
        self.counters.sessions_opened += count
        return session

    @asynccontextmanager
    async def transient(self) -> AsyncIterator[Session]:
        """A session for one call, outside the capacity but bounded; same errors as ``open``."""
        session = await _begun(lambda: self._open(self._transient, socket=True))
        try:
            yield session
        finally:
            self.close(session)

    def find(self, session_id: str) -> Session:
        """The open session of that id.

        Raises:
            SessionLost: There is none.
        """
        session = self._sessions.get(session_id)
        if session is None or session.state is not SessionState.OPEN:
            raise SessionLost("There is no such session; it may have ended or expired. Reset to get another one.")
        return session

    def tally(self) -> Tally:
        """What all sessions have done, the living ones up to now."""
        whole = Tally()
        for tally in (self.counters.ended, *(session.host.tally for session in self._sessions.values())):
            whole.merge(tally)
        return whole

    def close(self, session: Session) -> None:
        """Closes a session: drops what waits, and closes the environment once its running call has returned."""
        if session.state in (SessionState.STARTING, SessionState.OPEN):
            session.state = SessionState.CLOSING
            session.closing_since = self._clock()
            session.fail_calls(SessionLost(f"Session {session.session_id} was closed while the call was under way."))
            self._finish(session)

    def give_up(self, session: Session, overdue: str) -> None:
        """Counts a session as hung, whose call passed a deadline and cannot be stopped, and frees its slot.

        Args:
            session: The session; one that has ended is left as it is.
            overdue: The call and what it passed, such as ``step after 5 s``.
        """
        if session.state in (SessionState.STARTING, SessionState.OPEN, SessionState.CLOSING):
            self._give_up(session, overdue)

    def interrupt(self, session: Session, job: AnyJob) -> bool:
        """Stops a job, and no other, where that is possible; see ``Worker.interrupt``."""
        home = self._homes.async_loop
        if home is not None and home is session.home:
            # Asks it for a sign of life: whether one has come since tells ``give_up`` what is lost with the session.
            home.blocked_for(self._clock())
        return session.worker.interrupt(job)

    async def shutdown(self, patience: float) -> None:
        """Closes all sessions and waits for it at most so long, in seconds."""
        remaining = list(self._sessions.values())
        for session in remaining:
            session.lose(SessionError("The server is shutting down."))
            self.close(session)
        ends = [asyncio.ensure_future(s.ended.wait()) for s in remaining if s.holds_slot]
        if ends:
            _, late = await asyncio.wait(ends, timeout=patience)
            for task in late:
                task.cancel()
        if self._sweep is not None:
            self._sweep.cancel()
        self._homes.end()

    def sweep(self) -> None:
        """Ends what passed its deadline or its time to live."""
        now = self._clock()
        self._watch_async_loop(now)
        for session in list(self._sessions.values()):
            if session.state is SessionState.CLOSING:
                self._sweep_closing(session, now)
            elif session.state is not SessionState.HUNG:
                self._sweep_living(session, now)

    async def _open(self, capacity: Capacity, *, socket: bool) -> Session:
        self._keep_sweeping()
        peer = await self._slots.take(capacity, self.contract.config.capacity_wait)
        session = self._settled(capacity, peer, socket=socket)
        await self._constructed(session)
        return session

    async def _open_lanes(self, count: int, thread: WorkThread | None) -> list[Session]:
        self._keep_sweeping()
        peer = await self._slots.take(self.capacity, self.contract.config.capacity_wait, count)
        opened: list[Session] = []
        try:
            while len(opened) < count:
                opened.append(self._settled(self.capacity, peer, socket=True, thread=thread))
            await asyncio.gather(*(self._constructed(session) for session in opened))
            if any(session.state is not SessionState.OPEN for session in opened):
                raise SessionError("A lane was lost while the others were being made.")
        except BaseException as error:
            for session in opened:
                self.close(session)
            if len(opened) < count and isinstance(error, CapacityReached):
                self._slots.give_back(self.capacity, count - len(opened) - 1, peer)
            raise
        return opened

    async def _open_vector(self, count: int, thread: WorkThread | None, arguments: dict[str, Any]) -> Session:
        self._keep_sweeping()
        peer = await self._slots.take(self.capacity, self.contract.config.capacity_wait, count)
        session = self._settled(self.capacity, peer, socket=True, thread=thread, slots=count)
        await self._constructed(session, num_envs=count, **arguments)
        return session

    async def _constructed(self, session: Session, **arguments: Any) -> None:
        try:
            await session.call(lambda host: host.construct(**arguments), now=self._clock())
        except FactoryError as error:
            self.last_construction = error
            self.close(session)
            raise
        except BaseException:
            self.close(session)
            raise
        self.last_construction = True
        session.state = SessionState.OPEN

    def _settled(
        self, capacity: Capacity, peer: str | None, *, socket: bool, thread: WorkThread | None = None, slots: int = 1
    ) -> Session:
        session = Session(self.contract, capacity=capacity, socket=socket, now=self._clock())
        session.slots, session.peer = slots, peer
        try:
            self._homes.settle(session, thread)
        except (RuntimeError, OSError) as error:
            # No thread or no descriptor is to be had: for whoever asks, the server is full.
            self._release(session)
            self.counters.sessions_refused += 1
            logger.error("No session can be made now: %s", error)
            raise CapacityReached(
                f"The server has no thread for another session: {error}.",
                active_sessions=capacity.taken,
                max_sessions=capacity.slots,
            ) from error
        self._sessions[session.session_id] = session
        return session

    def _release(self, session: Session) -> None:
        if session.holds_slot:
            session.holds_slot = False
            self._slots.give_back(session.capacity, session.slots, session.peer)

    def _finish(self, session: Session) -> None:
        session.host.abandoned = True
        session.worker.abandon()
        session.worker.finish(Job(session.host.close, lambda _: self._ended(session)))

    def _ended(self, session: Session) -> None:
        if session.counts_as_hung:
            session.counts_as_hung = False
            self.counters.hung -= 1
            logger.info("Session %s, which hung, has returned and is closed.", session.session_id)
        self.counters.ended.merge(session.host.tally)
        session.state = SessionState.CLOSED
        self._sessions.pop(session.session_id, None)
        self._release(session)
        session.ended.set()

    def _sweep_living(self, session: Session, now: float) -> None:
        overdue = self._overdue(session, now)
        if overdue is not None:
            self._give_up(session, overdue)
            return
        config = self.contract.config
        if session.socket or session.busy:
            return
        idle_ttl = config.session_idle_ttl if session.idle_ttl is None else session.idle_ttl
        if now - session.used_at > idle_ttl or now - session.created_at > config.session_ttl:
            logger.info("Session %s has expired.", session.session_id)
            self.counters.sessions_expired += 1
            self.close(session)

    def _sweep_closing(self, session: Session, now: float) -> None:
        overdue = self._overdue(session, now)
        if overdue is not None:
            self._give_up(session, overdue)
        elif session.holds_slot and now - session.closing_since > self.contract.config.disconnect_grace:
            # Its client is gone; whatever still runs is not worth a slot, and is not hung before its deadline.
            self._release(session)

    def _overdue(self, session: Session, now: float) -> str | None:
        activity = session.host.activity
        if activity is None:
            return None
        limit = self.contract.config.limit(activity.operation)
        patience = session.host.patience
        if limit is not None and patience is not None:
            limit = max(limit, patience)  # whoever carries the request ends what passes a shorter one
        elif limit is not None and activity.timeout_s is not None:
            limit = min(limit, activity.timeout_s)
        return None if limit is None or now - activity.started <= limit else f"{activity.operation} after {limit:g} s"

    def _give_up(self, session: Session, overdue: str) -> None:
        logger.error(
            "Session %s hangs in %s; its slot is freed. Its code runs on until it returns by itself.\n%s",
            session.session_id,
            overdue,
            session.worker.stack(),
            extra={"session_id": session.session_id},
        )
        self.counters.hung += 1
        self.counters.hung_total += 1
        session.counts_as_hung = True
        self._strand(session, StepTimeout(f"The server gave up {overdue}; the session is closed."))
        if session.home is not None and not self._cancellable(session):
            self._strand_neighbours(session)

    def _strand(self, session: Session, error: OpenEnvGymError) -> None:
        was_closing = session.state is SessionState.CLOSING
        session.state = SessionState.HUNG
        self._release(session)
        session.lose(error)
        if was_closing:
            session.worker.abandon()
        else:
            self._finish(session)

    def _cancellable(self, session: Session) -> bool:
        home = self._homes.async_loop
        return home is not None and session.home is home and home.blocked_for(self._clock()) < _BLOCK_LOGGED_AFTER

    def _strand_neighbours(self, culprit: Session) -> None:
        # They share a thread or loop that does not come back: nothing of theirs will ever run.
        for session in list(self._sessions.values()):
            if session.home is culprit.home and session.state is not SessionState.HUNG:
                self.counters.sessions_stranded += 1
                lost = _NeverBegun if session.state is SessionState.STARTING else SessionError
                self._strand(session, lost("The session shared its thread with one that hangs; it is lost."))
        self._homes.forget(culprit.home)

    def _watch_async_loop(self, now: float) -> None:
        home = self._homes.async_loop
        if home is None:
            return
        seconds = home.blocked_for(now)
        if seconds >= _BLOCK_LOGGED_AFTER:
            running = [s.session_id for s in self._sessions.values() if s.home is home and s.host.activity]
            home.log_block(seconds, running)

    def _keep_sweeping(self) -> None:
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(self._period(), self._sweep_again)

    def _sweep_again(self) -> None:
        self._sweep = None
        try:
            self.sweep()
        finally:
            if self._sessions:
                self._keep_sweeping()

    def _period(self) -> float:
        config = self.contract.config
        shortest = min(
            config.reset_timeout,
            config.step_timeout,
            config.close_timeout,
            config.disconnect_grace,
            config.session_idle_ttl,
            config.mcp_idle_ttl,
        )
        return min(max(shortest / 4, 0.02), 0.5)


class _NeverBegun(SessionError):
    """A session was to be made where another one hangs, and has not been: it can be made elsewhere."""


async def _begun(make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Opens sessions, again for as long as they wait their turn where another one turns out to hang."""
    while True:
        try:
            return await make()
        except _NeverBegun as error:
            logger.info("A session is made anew. %s", error.message)
