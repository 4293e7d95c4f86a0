"""Waits for slots: the clock and the futures around the rules of ``capacity``, and the share of each peer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from openenv_gym_protocol.errors import CapacityReached

from openenv_gym_server.callers import current_peer
from openenv_gym_server.capacity import Capacity, Ticket
from openenv_gym_server.counters import Counters


class Slots:
    """Gives slots to those who wait for them. Used on the server's event loop only.

    Args:
        counters: Where refusals are counted.
        clock: The monotonic clock, in seconds.
        per_peer: How many slots of one capacity one peer may have or wait for; None for all.
    """

    def __init__(self, counters: Counters, clock: Callable[[], float], per_peer: int | None = None) -> None:
        self._counters = counters
        self._clock = clock
        self._per_peer = per_peer
        self._shares: Counter[tuple[Capacity, str]] = Counter()
        self._waiting: dict[Ticket, asyncio.Future[None]] = {}

    async def take(self, capacity: Capacity, patience: float, count: int = 1) -> str | None:
        """Takes slots, all of them at once.

        Args:
            capacity: Where from.
            patience: How long to wait for them at most, in seconds.
            count: How many.

        Returns:
            The peer whose share they are, for ``give_back``.

        Raises:
            CapacityReached: They did not become free in time, there are never so many, or the peer's share is used up.
        """
        if count > capacity.slots:
            raise self._refusal(capacity, f"{count} lanes were asked for, and this server has {capacity.slots} in all.")
        peer = self._share(capacity, count)
        ticket = capacity.ask(self._clock(), patience, count)
        if not ticket.granted:
            try:
                await self._granted(capacity, ticket, patience)
            except BaseException:
                self._unshare(capacity, count, peer)
                raise
        return peer

    def give_back(self, capacity: Capacity, count: int = 1, peer: str | None = None) -> None:
        """Frees slots, of a peer's share, for those who wait."""
        self._unshare(capacity, count, peer)
        following = capacity.give_back(self._clock(), count)
        while following is not None:
            if not self._waiting[following].done():
                self._waiting[following].set_result(None)
            following = capacity.admit(self._clock())

    def _share(self, capacity: Capacity, count: int) -> str | None:
        peer = current_peer()
        if self._per_peer is None or peer is None:
            return None
        if self._shares[capacity, peer] + count > self._per_peer:
            # At once: who waits for their own sessions to end would wait in everybody's queue.
            raise self._refusal(capacity, f"This server gives one peer {self._per_peer} sessions at a time.")
        self._shares[capacity, peer] += count
        return peer

    def _unshare(self, capacity: Capacity, count: int, peer: str | None) -> None:
        if peer is not None:
            self._shares[capacity, peer] -= count
            if not self._shares[capacity, peer]:
                del self._shares[capacity, peer]

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
