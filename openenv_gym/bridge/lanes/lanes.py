"""All lanes of an environment: connected when they must be, asked in rounds, closed together."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from openenv_gym_protocol.errors import (
    HOW_TO_READ_THE_LOG,
    ConnectError,
    FactoryError,
    OpenEnvGymError,
    SessionLost,
)

from openenv_gym.bridge.guard import Guard
from openenv_gym.bridge.lane_sets import all_lanes
from openenv_gym.bridge.lanes import farewells
from openenv_gym.bridge.lanes.answers import Answer, Ask
from openenv_gym.bridge.lanes.connecting import Connecting
from openenv_gym.bridge.lanes.group import AnyLane, Episodes, LaneGroup
from openenv_gym.bridge.lanes.lane import Lane
from openenv_gym.bridge.lanes.repeating import StepAgain
from openenv_gym.bridge.lanes.rounds import Rounds
from openenv_gym.bridge.lanes.standard import StandardGroup
from openenv_gym.bridge.lanes.vector import VectorLane
from openenv_gym.bridge.servers.server import Server
from openenv_gym.bridge.servers.servers import Servers
from openenv_gym.bridge.wires import Wire
from openenv_gym.transports.base import Connection, Connector
from openenv_gym.transports.io_thread import io_thread
from openenv_gym.transports.timeouts import Timeouts
from openenv_gym.transports.websocket import open_websocket

CLOSE_SECONDS = 2.0
"""How long closing may take."""


class Lanes:
    """The lanes of one environment.

    Used by one thread at a time, for which the environment's methods see by the guard.

    Args:
        count: How many.
        servers: Where their servers come from.
        timeouts: For each phase.
        episodes: How they begin and end their episodes.
        wire: The wire to speak; None to take the vector wire where it is offered.
        connector: Opens connections.

    Attributes:
        servers: Where their servers come from.
        guard: Knows when a call may have touched something here.
    """

    def __init__(
        self,
        count: int,
        servers: Servers,
        timeouts: Timeouts,
        episodes: Episodes,
        *,
        wire: Wire | None = None,
        connector: Connector = open_websocket,
    ) -> None:
        self.servers = servers
        self.guard = Guard()
        self._rounds = Rounds(self._connections)
        self._lanes: dict[int, AnyLane] = {index: Lane(index) for index in range(count)}
        self._standard = StandardGroup(self._lanes, episodes)
        self._connecting = Connecting(episodes, timeouts, connector, wire)
        self._groups: list[tuple[LaneGroup, Sequence[int]]] | None = None
        """All lanes by groups, as long as no lane is connected anew."""
        self._pid = os.getpid()

    def __len__(self) -> int:
        return len(self._lanes)

    def __getitem__(self, index: int) -> AnyLane:
        return self._lanes[index]

    def enter_process(self) -> bool:
        """After a fork, leaves the sessions to the process that opened them.

        Returns:
            Whether there was one since the last call.
        """
        if self._pid == os.getpid():
            return False
        self._pid = os.getpid()
        self._rounds = Rounds(self._connections)
        self._connecting.groups.clear()
        self._groups = None
        for index, old in list(self._lanes.items()):
            new = self._lanes[index] = Lane(index)
            if not old.is_unused:
                new.lose(SessionLost("The session belongs to the process that was forked."))
        return True

    def group_of(self, index: int) -> LaneGroup:
        """How a lane is asked and read."""
        lane = self._lanes[index]
        return lane.group if isinstance(lane, VectorLane) else self._standard

    def grouped(self, indices: Iterable[int]) -> list[tuple[LaneGroup, Sequence[int]]]:
        """Lanes with how they are asked, by groups."""
        everyone = all_lanes(len(self._lanes)).lanes
        if indices is not everyone:
            return self._grouped(indices)
        if self._groups is None:
            self._groups = self._grouped(everyone)
            if len(self._groups) == 1:
                self._groups = [(self._groups[0][0], everyone)]
        return self._groups

    def _grouped(self, indices: Iterable[int]) -> list[tuple[LaneGroup, Sequence[int]]]:
        groups: dict[int, tuple[LaneGroup, list[int]]] = {}
        last: LaneGroup | None = None
        for index in indices:
            lane = self._lanes[index]
            group = lane.group if isinstance(lane, VectorLane) else self._standard
            if group is not last:
                last, members = group, groups.setdefault(id(group), (group, []))[1]
            members.append(index)
        return list(groups.values())

    def connect(self, indices: Sequence[int]) -> dict[int, OpenEnvGymError]:
        """Connects those of some lanes that have no session.

        Returns:
            Why lanes could not be connected; the errors name them.
        """
        missing = [index for index in indices if self._lanes[index].needs_connection]
        was_at_work, self.guard.is_at_work = self.guard.is_at_work, True
        failures = self._connect(missing) if missing else {}
        unreachable = [index for index, error in failures.items() if isinstance(error, ConnectError)]
        # A server of ours that died since is started anew, once; sessions are lost by then and known to be.
        if unreachable and all([self.servers.replace(index) for index in unreachable]):
            retried = self._connect(unreachable)
            failures = {index: error for index, error in failures.items() if index not in unreachable} | retried
        for index, error in failures.items():
            self.name(error, index)
        if len(missing) > len(failures):
            self.servers.keep_spares()
        self.guard.is_at_work = was_at_work
        return failures

    def start(self, asks: Sequence[Ask], timeout: float | None) -> None:
        """Sends requests with one deadline; ``take`` gives their answers."""
        self.guard.is_at_work = True
        self._rounds.start(asks, timeout)

    def wait(self, count: int, timeout: float | None = None, *, later: int = 0) -> bool:
        """Waits until so many lanes have settled; see ``Rounds.wait``."""
        return self._rounds.wait(count, timeout, later=later)

    def repeat(self, again: StepAgain, timeout: float | None) -> bool:
        """Takes a step in a known form; see ``Rounds.repeat``."""
        self.guard.is_at_work = True
        return self._rounds.repeat(again, timeout)

    def take(self) -> list[Answer]:
        """What has settled of all that was started; the errors name their lanes."""
        self.guard.is_at_work = True
        return self._named(self._rounds.take())

    def ask(self, asks: Sequence[Ask], timeout: float | None) -> list[Answer]:
        """Sends requests and waits until all of them are settled; nobody else's answers are among theirs."""
        self.guard.is_at_work = True
        return self._named(self._rounds.ask(asks, timeout))

    def give_up(self, reason: str) -> None:
        """Gives up everything that is under way: those lanes are lost, and nothing of it is read."""
        self._rounds.forget()
        if not self._rounds.is_settled:
            io_thread().run(self._rounds.give_up(reason))

    def give_up_all(self, reason: str) -> None:
        """Gives up every session, whatever is under way in it. May be interrupted, and called again."""
        if not self.enter_process():
            self._rounds.forget()
            io_thread().run(self._give_up_all(reason))

    def replace(self, index: int) -> None:
        """Gives a lane to another server: its session there begins with the next reset."""
        self.servers.move(index)
        self.let_go(index, "The session was given up for one at another server.")

    def let_go(self, index: int, reason: str) -> None:
        """Ends a lane's session, if it has one: another begins with the next reset."""
        if not self._lanes[index].needs_connection:
            io_thread().run(self._let_go([self._lanes[index]], reason))

    def close(self) -> None:
        """Ends the sessions and the use of the servers, within a bound. Never raises. Idempotent."""
        try:
            if self._pid == os.getpid():
                io_thread().run(self._close(by_force=self._rounds.holds_caller))
        except RuntimeError:
            pass  # the loop is gone already: the interpreter is ending, and the sockets with it
        finally:
            self.servers.release()

    def discard(self) -> None:
        """Does the same without waiting: for finalizers, which may run on any thread and in forked children."""
        if self._pid != os.getpid():
            return
        # Lanes that were never connected have nothing to close, and a finalizer must not start the I/O thread for it.
        if not all(lane.is_unused for lane in self._lanes.values()):
            work = self._close()
            try:
                farewells.say(asyncio.run_coroutine_threadsafe(work, io_thread().loop))
            except RuntimeError:
                work.close()  # the interpreter is ending
        self.servers.release()

    def name(self, error: OpenEnvGymError, index: int) -> None:
        """Makes an error name the lane, server and session that it happened to."""
        if error.session is not None:
            return  # an earlier call of this session named it already
        lane = self._lanes[index]
        error.server = None if lane.server is None else lane.server.base_url
        error.session = lane.session_id
        place = f"server {error.server}"
        if error.session is not None:  # the server may have refused to begin one
            place += f", session {error.session}"
        if len(self._lanes) > 1:
            error.lane = lane.index
            place = f"lane {lane.index}, {place}"
        refers = isinstance(error, FactoryError) or "log says" in error.message
        hint = f" {HOW_TO_READ_THE_LOG}" if refers and HOW_TO_READ_THE_LOG not in error.message else ""
        error.args = (f"{error.message}{hint} [{place}]",)

    def _named(self, answers: list[Answer]) -> list[Answer]:
        for answer in answers:
            if answer.errors:
                for index, error in answer.errors.items():
                    self.name(error, index)
        return answers

    async def _give_up_all(self, reason: str) -> None:
        # On the loop, after whatever the interrupted call had begun there, unknown to itself perhaps.
        await self._rounds.give_up(reason)
        await self._connecting.stop()
        await self._let_go(list(self._lanes.values()), reason)

    async def _let_go(self, lanes: Sequence[AnyLane], reason: str) -> None:
        await self._rounds.reclaim()
        for lane in lanes:
            if lane.needs_connection:
                continue
            if isinstance(lane, VectorLane):
                lane.let_go(SessionLost(reason))
            elif isinstance(lane, Lane):
                lane.abandon(SessionLost(reason))

    def _connect(self, indices: Sequence[int]) -> dict[int, OpenEnvGymError]:
        self._groups = None
        servers, failures = self.servers.start(indices)
        return failures | io_thread().run(self._connect_to(servers))

    async def _connect_to(self, servers: Mapping[int, Server]) -> dict[int, OpenEnvGymError]:
        await self._rounds.reclaim()
        failures = await self._connecting.connect(self._lanes, servers)
        self._rounds.connected()
        return failures

    def _connections(self) -> list[Connection] | None:
        """Those of all lanes that have a session; None while one has none, and may get one."""
        found: dict[Connection, None] = {}
        for lane in self._lanes.values():
            if not lane.needs_connection:
                if lane.connection is None:
                    return None
                found[lane.connection] = None
        return list(found)

    async def _close(self, *, by_force: bool = False) -> None:
        await self._rounds.reclaim(by_force=by_force)
        standard = [lane for lane in self._lanes.values() if isinstance(lane, Lane)]
        await _close([*standard, *(group.link for group in self._connecting.groups)])


class _Closing(Protocol):
    async def close(self) -> None:
        """Ends it."""


async def _close(closing: Sequence[_Closing]) -> None:
    tasks = [asyncio.ensure_future(each.close()) for each in closing]
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        for task in late:
            task.cancel()
