"""The lanes of one connection: their numbers, and who answers for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from openenv_gym_protocol.errors import InvalidMessage

from openenv_gym_server.vector.lane import Driver, LaneDriver, Member
from openenv_gym_server.vector.shares import Share

_closed = attrgetter("member.closed")

_MOST_CAUSES = 4096
"""Of so many lost lanes it is known why, of the latest; whoever asks does so soon."""


class Lanes:
    """Gives numbers, which are never used again, and finds members by them.

    Attributes:
        changes: How often what can be found has changed.
    """

    def __init__(self) -> None:
        self.changes = 0
        self._drivers: dict[int, Driver] = {}
        self._causes: dict[int, str] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._drivers)

    def numbers(self, count: int) -> list[int]:
        """New numbers."""
        first, self._next = self._next, self._next + count
        return list(range(first, self._next))

    def add(self, driver: Driver) -> None:
        """Adds a member with its driver."""
        self.changes += 1
        for lane in driver.member.lanes:
            self._drivers[lane] = driver

    def close(self, member: Member, lanes: Sequence[int]) -> None:
        """Finds some or all lanes of a member no more."""
        self.changes += 1
        member.closed.update(lanes)

    def remove(self, member: Member) -> None:
        """Forgets a member that has ended."""
        self.close(member, member.lanes)
        for lane in member.lanes:
            self._drivers.pop(lane, None)

    def lose(self, member: Member, cause: str) -> None:
        """Forgets a member that was lost, and remembers why."""
        self.remove(member)
        self._causes.update(dict.fromkeys(member.lanes, cause))
        while len(self._causes) > _MOST_CAUSES:
            del self._causes[next(iter(self._causes))]

    def why_gone(self, lane: int) -> str:
        """Why a lane is not here, for whoever asks something of it."""
        cause = self._causes.get(lane)
        return f"The lane is gone: {cause or 'it was lost or closed.'} Open another one."

    def driver(self, member: Member) -> Driver:
        """The driver of a member that is here."""
        return self._drivers[member.lanes[0]]

    def members(self) -> Iterator[Member]:
        """Every member once."""
        yield from {id(driver): driver.member for driver in self._drivers.values()}.values()

    def drivers(self, lanes: Sequence[int]) -> tuple[list[LaneDriver], list[int], list[int]]:
        """Finds the drivers of lanes that have an environment each.

        Returns:
            The drivers, the positions of their lanes among those asked for, and the lanes that are gone.

        Raises:
            InvalidMessage: A lane was never opened here.
        """
        self._check(lanes)
        known = self._drivers
        drivers: list[Any] = list(map(known.get, lanes))
        if not (None in drivers or any(map(_closed, drivers))):
            return drivers, list(range(len(lanes))), []
        there = [place for place, driver in enumerate(drivers) if driver is not None and not driver.member.closed]
        gone = [lane for lane, driver in zip(lanes, drivers, strict=True) if driver is None or driver.member.closed]
        return [drivers[place] for place in there], there, gone

    def shares(self, lanes: Sequence[int]) -> tuple[list[Share], list[int]]:
        """Divides a request's lanes among their members.

        Returns:
            The shares, and the lanes that are gone.

        Raises:
            InvalidMessage: A lane was never opened here.
        """
        self._check(lanes)
        leader = self._drivers.get(lanes[0]) if lanes else None
        member = None if leader is None else leader.member
        if member is not None and member.is_many and not member.closed and tuple(lanes) == member.lanes:
            return [Share(member, lanes, range(len(lanes)))], []
        gone: list[int] = []
        shares: list[Share] = []
        positions: dict[int, list[int]] = {}
        for position, lane in enumerate(lanes):
            driver = self._drivers.get(lane)
            if driver is None or lane in driver.member.closed:
                gone.append(lane)
            elif driver.member.is_many:
                positions.setdefault(driver.member.lanes[0], []).append(position)
            else:
                shares.append(Share(driver.member, (lane,), (position,)))
        for first, found in positions.items():
            # In the environment's own order, which may be the only one that it knows.
            found.sort(key=lanes.__getitem__)
            shares.append(Share(self._drivers[first].member, [lanes[position] for position in found], found))
        return shares, gone

    def _check(self, lanes: Sequence[int]) -> None:
        if max(lanes, default=-1) >= self._next:
            unknown = [lane for lane in lanes if lane >= self._next]
            raise InvalidMessage(f"Lanes that were never opened on this connection: {unknown[:10]}.")
