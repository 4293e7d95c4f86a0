"""All lanes of an environment: connected when they must be, asked in batches, closed together."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence

from openenv_gym_protocol.errors import ConnectError, OpenEnvGymError, SessionLost
from openenv_gym_protocol.messages import Reply, Request, ResetRequest

from openenv_gym.bridge.lane import Lane
from openenv_gym.bridge.round import Outcome, Round
from openenv_gym.bridge.source import Server, Source
from openenv_gym.transports.base import Connector
from openenv_gym.transports.io_thread import io_thread
from openenv_gym.transports.timeouts import Timeouts
from openenv_gym.transports.websocket import open_websocket

CONNECTS_AT_ONCE = 32
"""Connections that are opened at the same time: servers queue more than that poorly."""

CLOSE_SECONDS = 2.0
"""How long closing may take."""


class Lanes:
    """The lanes of one environment.

    Used by one thread at a time, as Gymnasium's environments are.

    Args:
        count: How many.
        source: Where their servers come from.
        timeouts: For each phase.
        connector: Opens connections.
    """

    def __init__(self, count: int, source: Source, timeouts: Timeouts, connector: Connector = open_websocket) -> None:
        self.source = source
        self._timeouts = timeouts
        self._connector = connector
        self._lanes = [Lane(index) for index in range(count)]
        self._pid = os.getpid()

    def __len__(self) -> int:
        return len(self._lanes)

    def __getitem__(self, index: int) -> Lane:
        return self._lanes[index]

    def enter_process(self) -> None:
        """After a fork, leaves the sessions to the process that opened them."""
        if self._pid == os.getpid():
            return
        self._pid = os.getpid()
        lanes, self._lanes = self._lanes, [Lane(lane.index) for lane in self._lanes]
        for old, new in zip(lanes, self._lanes, strict=True):
            if not old.is_unused:
                new.lose(SessionLost("The session belongs to the process that was forked."))

    def exchange(self, requests: Mapping[int, Request]) -> dict[int, Outcome]:
        """Asks some lanes at once and waits until each is settled.

        Lanes that are to be reset and have no connection get one first.

        Args:
            requests: A request for each of some lanes, by their indices.

        Returns:
            The reply or the error of each lane; errors name lane, server and session.
        """
        outcomes: dict[int, Outcome] = {}
        unconnected = [
            index
            for index, request in requests.items()
            if isinstance(request, ResetRequest) and self._lanes[index].needs_connection
        ]
        if unconnected:
            outcomes.update(self._connect(unconnected))
        asked = [index for index in requests if index not in outcomes]
        batch = Round([(self._lanes[index], requests[index]) for index in asked], self._timeout(requests))
        outcomes.update(zip(asked, batch.run(io_thread()), strict=True))
        for index, outcome in outcomes.items():
            if isinstance(outcome, OpenEnvGymError):
                self.name(outcome, index)
        return outcomes

    def close(self) -> None:
        """Ends the sessions and the use of the servers, within a bound. Never raises. Idempotent."""
        try:
            if self._pid == os.getpid():
                io_thread().run(_close(self._lanes))
        except RuntimeError:
            pass  # the loop is gone already: the interpreter is ending, and the sockets with it
        finally:
            self.source.release()

    def discard(self) -> None:
        """Does the same without waiting: for finalizers, which may run on any thread and in forked children."""
        if self._pid != os.getpid():
            return
        work = _close(self._lanes)
        try:
            asyncio.run_coroutine_threadsafe(work, io_thread().loop)
        except RuntimeError:
            work.close()  # the interpreter is ending
        self.source.release()

    def _connect(self, indices: Sequence[int]) -> dict[int, OpenEnvGymError]:
        failures = self._connect_once(indices)
        unreachable = [index for index, error in failures.items() if isinstance(error, ConnectError)]
        # A server of ours that died since is started anew, once; sessions are lost by then and known to be.
        if unreachable and all([self.source.replace(index) for index in unreachable]):
            retried = self._connect_once(unreachable)
            failures = {index: error for index, error in failures.items() if index not in unreachable} | retried
        return failures

    def _connect_once(self, indices: Sequence[int]) -> dict[int, OpenEnvGymError]:
        servers = self.source.servers(indices)
        pairs = [(self._lanes[index], server) for index, server in zip(indices, servers, strict=True)]
        failures = io_thread().run(_connect_all(pairs, self._connector))
        return {index: error for index, error in zip(indices, failures, strict=True) if error is not None}

    def _timeout(self, requests: Mapping[int, Request]) -> float | None:
        phases: set[float | None] = {getattr(self._timeouts, request.type) for request in requests.values()}
        return None if None in phases else max((phase for phase in phases if phase is not None), default=None)

    def name(self, error: OpenEnvGymError, index: int) -> None:
        """Makes an error name the lane, server and session that it happened to."""
        if error.session is not None:
            return  # an earlier call of this session named it already
        lane = self._lanes[index]
        error.server = None if lane.server is None else lane.server.base_url
        error.session = lane.session_id
        place = f"server {error.server}, session {error.session}"
        if len(self._lanes) > 1:
            error.lane = lane.index
            place = f"lane {lane.index}, {place}"
        error.args = (f"{error.message} [{place}]",)


def reply_of(outcome: Outcome) -> Reply:
    """The reply.

    Raises:
        OpenEnvGymError: The error, when that is the outcome.
    """
    if isinstance(outcome, OpenEnvGymError):
        raise outcome
    return outcome


async def _connect_all(pairs: Sequence[tuple[Lane, Server]], connector: Connector) -> list[OpenEnvGymError | None]:
    slots = asyncio.Semaphore(CONNECTS_AT_ONCE)

    async def connect(lane: Lane, server: Server) -> OpenEnvGymError | None:
        async with slots:
            try:
                await lane.connect(server, connector)
            except OpenEnvGymError as error:
                return error
        return None

    return await asyncio.gather(*(connect(lane, server) for lane, server in pairs))


async def _close(lanes: Sequence[Lane]) -> None:
    closing = [asyncio.ensure_future(lane.close()) for lane in lanes]
    if closing:
        _, late = await asyncio.wait(closing, timeout=CLOSE_SECONDS)
        for task in late:
            task.cancel()
