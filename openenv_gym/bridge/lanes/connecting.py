"""Connects lanes: those of a server that selects the vector wire share one connection, all others have their own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from openenv_gym_protocol.errors import (
    ConnectError,
    ConnectionLost,
    InvalidMessage,
    OpenEnvGymError,
    SessionLost,
    copied,
)
from openenv_gym_protocol.vector.frames import Open, Opened

from openenv_gym.bridge.lanes.group import AnyLane, Episodes
from openenv_gym.bridge.lanes.lane import Lane
from openenv_gym.bridge.lanes.link import VectorLink
from openenv_gym.bridge.lanes.negotiation import Offered, offer_vector
from openenv_gym.bridge.lanes.vector import VectorGroup, VectorLane
from openenv_gym.bridge.servers.server import Server
from openenv_gym.bridge.wires import Wire
from openenv_gym.transports.base import Connector
from openenv_gym.transports.timeouts import Timeouts

CONNECTS_AT_ONCE = 32
"""Connections that are opened at the same time: servers queue more than that poorly."""


class Connecting:
    """Connects the lanes of one environment, on the event loop.

    Args:
        episodes: What the server is told of their episodes.
        timeouts: For each phase.
        connector: Opens connections.
        wire: The wire to speak; None to take the vector wire where it is offered.

    Attributes:
        groups: The links, each with its lanes.
    """

    def __init__(self, episodes: Episodes, timeouts: Timeouts, connector: Connector, wire: Wire | None) -> None:
        self.groups: list[VectorGroup] = []
        self._episodes = episodes
        self._timeouts = timeouts
        self._connector = connector
        self._wire = wire
        self._task: asyncio.Task[object] | None = None

    async def stop(self) -> None:
        """Ends the connecting of a caller who was interrupted, should it go on still."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def connect(self, lanes: dict[int, AnyLane], servers: Mapping[int, Server]) -> dict[int, OpenEnvGymError]:
        """Connects lanes, all servers at once.

        Args:
            lanes: Every lane by its index; those that are connected are replaced.
            servers: The server of each lane to connect.

        Returns:
            Why lanes could not be connected.
        """
        await self.stop()
        self._task = asyncio.current_task()
        shares: list[tuple[Server, list[int]]] = []
        for lane, server in servers.items():
            share = next((found for known, found in shares if known is server), None)
            if share is None:
                shares.append((server, [lane]))
            else:
                share.append(lane)
        slots = asyncio.Semaphore(CONNECTS_AT_ONCE)
        found = await asyncio.gather(*(self._share(lanes, indices, server, slots) for server, indices in shares))
        self.groups = [group for group in self.groups if group.link.is_open]
        return {lane: error for failures in found for lane, error in failures.items()}

    async def _share(
        self, lanes: dict[int, AnyLane], indices: Sequence[int], server: Server, slots: asyncio.Semaphore
    ) -> dict[int, OpenEnvGymError]:
        try:
            offered = await self._vector(lanes, indices, server)
        except _CannotOpen:
            self._wire, offered = "standard", None
        except OpenEnvGymError as error:
            for lane in (lanes[index] for index in indices):
                if isinstance(lane, Lane):
                    lane.server = server
            return {index: copied(error) for index in indices}
        if offered is None and self._wire != "standard":
            return {}

        async def connect(index: int, connector: Connector) -> OpenEnvGymError | None:
            async with slots:
                try:
                    await _stand_in(lanes, index).connect(server, connector)
                except OpenEnvGymError as error:
                    return error
            return None

        connectors = [self._connector] * len(indices)
        if offered is not None:
            connectors[0] = offered.as_connector
        try:
            failures = await asyncio.gather(*map(connect, indices, connectors))
        finally:
            if offered is not None and not offered.is_taken:
                offered.connection.abort()
        return {index: error for index, error in zip(indices, failures, strict=True) if error is not None}

    async def _vector(self, lanes: dict[int, AnyLane], indices: Sequence[int], server: Server) -> Offered | None:
        """Opens lanes on the vector wire, or returns a connection on which the server speaks the standard wire."""
        if self._wire == "standard":
            return None
        # One whose connection broke may never come back, and whoever connects would wait for that.
        group = next(
            (group for group in self.groups if group.link.server is server and group.link.has_connection), None
        )
        if group is not None:
            try:
                await self._open(group, lanes, indices)
            except (ConnectionLost, SessionLost):
                pass  # the link ended just now: the server may still be there, or again
            else:
                return None
        offered = await offer_vector(server, self._connector)
        if not offered.is_vector:
            if self._wire == "vector":
                offered.connection.abort()
                raise ConnectError(f"The server at {server.base_url} does not speak the vector wire.")
            return offered
        group = VectorGroup(VectorLink(server, self._connector), self._episodes)
        self.groups.append(group)
        await group.link.greet(offered.hand_to(group.link), self._timeouts.connect)
        await self._open(group, lanes, indices)
        return None

    async def _open(self, group: VectorGroup, lanes: dict[int, AnyLane], indices: Sequence[int]) -> None:
        episodes = self._episodes
        try:
            opened: Opened = await group.link.open(
                lambda number: Open(
                    id=number,
                    lanes=len(indices),
                    autoreset=str(episodes.autoreset),
                    max_episode_steps=episodes.max_steps,
                    options=dict(episodes.options),
                    render_mode=episodes.render_mode,
                ),
                self._timeouts.reset,
            )
        except InvalidMessage as error:
            if episodes.render_mode is not None:
                raise  # the standard wire has no pictures
            if self._wire is None and episodes.takes_either_wire:
                await group.link.close()
                raise _CannotOpen(error.message) from error
            error.args = (f"{error.message} On the standard wire (wire='standard') every mode and time limit is kept.",)
            raise
        for index, number in zip(indices, opened.lanes, strict=True):
            lane = VectorLane(index, group.link, number, group)
            group.add(lane)
            lanes[index] = lane


class _CannotOpen(InvalidMessage):
    """The server refused lanes that can be had on the standard wire."""


def _stand_in(lanes: dict[int, AnyLane], index: int) -> Lane:
    """The lane's place on the standard wire, taken by a new one if it was on the vector wire."""
    lane = lanes[index]
    if not isinstance(lane, Lane):
        lane = lanes[index] = Lane(index)
    return lane
