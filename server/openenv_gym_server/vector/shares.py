"""What the members of a fleet do for a request: each by itself, or a series of lanes on one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress

from openenv_gym_server.vector.lane import LaneDriver, Member
from openenv_gym_server.workers.base import AnyJob


class Share:
    """What one member does for a request.

    Attributes:
        member: Whose environment does it.
        lanes: The lanes of that member that were asked for.
        positions: Where they stand in the request.
        job: Its work, where it is a job of its own.
        reason: Why nobody waits for it any more, though it had begun; None while somebody does.
        settled: Lanes that are answered otherwise; all or none.
    """

    __slots__ = ("_free", "job", "lanes", "member", "positions", "reason", "settled")

    def __init__(self, member: Member, lanes: Sequence[int], positions: Sequence[int]) -> None:
        self.member = member
        self.lanes = lanes
        self.positions = positions
        self.job: AnyJob | None = None
        self.reason: str | None = None
        self.settled: frozenset[int] = frozenset()
        self._free = [True]

    def begin(self) -> bool:
        """Claims the work, for doing it or for dropping it: the first who asks has it. From any thread."""
        try:
            return self._free.pop()
        except IndexError:
            return False

    def drop(self) -> Sequence[int]:
        """Claims the work for dropping it, and returns the lanes of it: none where it has begun."""
        return self._give_back(self.begin())

    def lose(self, member: Member) -> Sequence[int]:
        """Drops the work of a member that is gone, begun or not, and returns the lanes of it."""
        if member is self.member:
            self.begin()  # so that it never will
        return self._give_back(member is self.member)

    @property
    def is_settled(self) -> bool:
        """Nothing of it is left to answer."""
        return bool(self.settled)

    @property
    def at_work(self) -> Member | None:
        """Whose environment runs for it just now, if any does."""
        return self.member if self.member.session.host.activity is not None else None

    def _give_back(self, is_over: bool) -> Sequence[int]:
        if not is_over:
            return ()
        self.settled = frozenset(self.lanes)
        return self.lanes


class Series:
    """Lanes of a step request that one thread steps one after another, each with an environment of its own.

    Args:
        drivers: The lanes' drivers.
        positions: Where the lanes stand in the request.

    Attributes:
        drivers: As they were given.
        positions: As they were given.
        job: None: they are no job of a session's.
        reason: Why nobody waits any more for what had begun; None while somebody does.
        settled: Lanes that are answered otherwise.
    """

    __slots__ = ("_left", "drivers", "job", "positions", "reason", "settled")

    def __init__(self, drivers: Sequence[LaneDriver], positions: Sequence[int]) -> None:
        self.drivers = drivers
        self.positions = positions
        self.job: AnyJob | None = None
        self.reason: str | None = None
        self.settled: set[int] = set()
        self._left = deque(range(len(drivers)))

    @property
    def lanes(self) -> Sequence[int]:
        """The numbers of its lanes."""
        return [driver.lane for driver in self.drivers]

    def claims(self) -> Iterator[int]:
        """Claims one lane after the other for stepping it: their places among the drivers. From a thread."""
        claim = self._left.popleft
        with suppress(IndexError):
            while True:
                yield claim()

    def drop(self) -> Sequence[int]:
        """Claims all that have not begun for dropping them, and returns those lanes."""
        dropped: list[int] = []
        with suppress(IndexError):
            while True:
                dropped.append(self.drivers[self._left.pop()].lane)
        self.settled.update(dropped)
        return dropped[::-1]

    def lose(self, member: Member) -> Sequence[int]:
        """Drops the work of a member that is gone, begun or not, and returns the lanes of it."""
        lost = [driver.lane for driver in self.drivers if driver.member is member and driver.lane not in self.settled]
        self.settled.update(lost)
        return lost

    @property
    def is_settled(self) -> bool:
        """Nothing of it is left to answer."""
        return len(self.settled) == len(self.drivers)

    @property
    def at_work(self) -> Member | None:
        """Whose environment runs for it just now, if any does."""
        members = (driver.member for driver in self.drivers)
        return next((member for member in members if member.session.host.activity is not None), None)
