"""Waits for slots: the clock and the futures around the rules of ``capacity``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from openenv_gym_protocol.errors import CapacityReached

from openenv_gym_server.capacity import Capacity, Ticket
from openenv_gym_server.counters import Counters


class Slots:
    """Gives slots to those who wait for them. Used on the server's event loop only.

    Args:
        counters: Where refusals are counted.
        clock: The monotonic clock, in seconds.
    """

    def __init__(self, counters: Counters, clock: Callable[[], float]) -> None:
        self._counters = counters
        self._clock = clock
        self._waiting: dict[Ticket, asyncio.Future[None]] = {}

    async def take(self, capacity: Capacity, patience: float, count: int = 1) -> None:
        """Takes slots, all of them at once.

        Args:
            capacity: Where from.
            patience: How long to wait for them at most, in seconds.
            count: How many.

        Raises:
            CapacityReached: They did not become free in time, or there are never so many.
        """
        if count > capacity.slots:
            raise self._refusal(capacity, f"{count} lanes were asked for, and this server has {capacity.slots} in all.")
        ticket = capacity.ask(self._clock(), patience, count)
        if not ticket.granted:
            await self._granted(capacity, ticket, patience)

    def give_back(self, capacity: Capacity, count: int = 1) -> None:
        """Frees slots for those who wait."""
        following = capacity.give_back(self._clock(), count)
        while following is not None:
            if not self._waiting[following].done():
                self._waiting[following].set_result(None)
            following = capacity.admit(self._clock())

    async def _granted(self, capacity: Capacity, ticket: Ticket, patience: float) -> None:
        granted = self._waiting[ticket] = asyncio.get_running_loop().create_future()
        try:
            # Not wait_for, which in Python 3.11 forgets that it was cancelled when the slots come at the same time.
            async with asyncio.timeout(patience):
                await granted
        except TimeoutError:
            # A slot may have come in the moment in which the time ran out; then it is used.
            if not capacity.holds(ticket):
                taken = f"{capacity.taken}/{capacity.slots}"
                raise self._refusal(capacity, f"Server at capacity: {taken} sessions active.") from None
        except asyncio.CancelledError:
            if capacity.holds(ticket):
                self.give_back(capacity, ticket.slots)
            raise
        finally:
            capacity.give_up(ticket)
            del self._waiting[ticket]
            # Who asked for more than was free may have kept others waiting.
            self.give_back(capacity, 0)

    def _refusal(self, capacity: Capacity, message: str) -> CapacityReached:
        self._counters.sessions_refused += 1
        return CapacityReached(message, active_sessions=capacity.taken, max_sessions=capacity.slots)
