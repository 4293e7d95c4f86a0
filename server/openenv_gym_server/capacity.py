"""Who gets a session when there are not enough: rules without input or output."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(eq=False)
class Ticket:
    """A place in the queue.

    Attributes:
        gives_up_at: When it stops waiting, in seconds of the caller's clock.
        granted: It holds a slot.
    """

    gives_up_at: float
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

    def ask(self, now: float, patience: float) -> Ticket:
        """Takes a slot, or a place in the queue.

        Args:
            now: The time, in seconds.
            patience: How long to wait at most, in seconds.
        """
        ticket = Ticket(now + patience)
        if self.full or self._queue:
            self._queue.append(ticket)
        else:
            self._grant(ticket)
        return ticket

    def give_back(self, now: float) -> Ticket | None:
        """Frees a slot and grants it to the first who still waits, who is returned."""
        self.taken -= 1
        while self._queue and not self.full:
            ticket = self._queue.popleft()
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

    def _grant(self, ticket: Ticket) -> Ticket:
        self.taken += 1
        ticket.granted = True
        return ticket
