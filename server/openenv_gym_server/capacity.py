"""Who gets a session when there are not enough: rules without input or output."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(eq=False)
class Ticket:
    """A place in the queue.

    Attributes:
        gives_up_at: When it stops waiting, in seconds of the caller's clock.
        slots: How many it asks for; it gets all of them at once.
        granted: It holds its slots.
    """

    gives_up_at: float
    slots: int = 1
    granted: bool = False


class Capacity:
    """Counts slots and queues those who wait, first come first served.

    Args:
        slots: How many there are.
    """

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.taken = 0
        self._queue: deque[Ticket] = deque()

    @property
    def full(self) -> bool:
        """Nobody can have a slot now."""
        return self.taken >= self.slots

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._queue)

    def ask(self, now: float, patience: float, slots: int = 1) -> Ticket:
        """Takes slots, or a place in the queue.

        Args:
            now: The time, in seconds.
            patience: How long to wait at most, in seconds.
            slots: How many are needed, all of them or none.
        """
        ticket = Ticket(now + patience, slots)
        if self._queue or not self._has_room_for(ticket):
            self._queue.append(ticket)
        else:
            self._grant(ticket)
        return ticket

    def give_back(self, now: float, slots: int = 1) -> Ticket | None:
        """Frees slots and grants them to the first who still waits, who is returned; see ``admit``."""
        self.taken -= slots
        return self.admit(now)

    def admit(self, now: float) -> Ticket | None:
        """Grants what is free to the first who still waits, who is returned; None when there is nobody or no room.

        Whoever waits for many slots is not overtaken by who wants fewer.
        """
        while self._queue:
            ticket = self._queue[0]
            if ticket.gives_up_at >= now and not self._has_room_for(ticket):
                return None
            self._queue.popleft()
            if ticket.gives_up_at >= now:
                return self._grant(ticket)
        return None

    @staticmethod
    def holds(ticket: Ticket) -> bool:
        """The ticket has a slot by now."""
        return ticket.granted

    def give_up(self, ticket: Ticket) -> None:
        """Takes a ticket out of the queue, if it is there."""
        if ticket in self._queue:
            self._queue.remove(ticket)

    def _has_room_for(self, ticket: Ticket) -> bool:
        return self.taken + ticket.slots <= self.slots

    def _grant(self, ticket: Ticket) -> Ticket:
        self.taken += ticket.slots
        ticket.granted = True
        return ticket
