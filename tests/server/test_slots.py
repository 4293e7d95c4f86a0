from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from openenv_gym_protocol.errors import CapacityReached
from openenv_gym_server.callers import CALLER, Caller
from openenv_gym_server.capacity import Capacity
from openenv_gym_server.counters import Counters
from openenv_gym_server.slots import Slots

PATIENCE = 20.0


def run(play: Callable[[Slots, Capacity, Counters], Coroutine[Any, Any, None]], slots: int = 4) -> None:
    async def played() -> None:
        counters = Counters()
        await asyncio.wait_for(play(Slots(counters, time.monotonic), Capacity(slots), counters), PATIENCE)

    asyncio.run(played())


async def waiting(slots: Slots, capacity: Capacity, patience: float, count: int) -> asyncio.Task[str | None]:
    task = asyncio.create_task(slots.take(capacity, patience, count))
    before = capacity.waiting
    while capacity.waiting == before:
        await asyncio.sleep(0)
    return task


def test_who_waits_gets_all_slots_when_enough_are_free() -> None:
    async def play(slots: Slots, capacity: Capacity, counters: Counters) -> None:
        await slots.take(capacity, 0, 3)
        task = await waiting(slots, capacity, PATIENCE, 3)
        slots.give_back(capacity)
        assert not task.done()
        slots.give_back(capacity)
        await task
        assert (capacity.taken, counters.sessions_refused) == (4, 0)

    run(play)


def test_the_end_of_patience_is_a_refusal_that_takes_nothing() -> None:
    async def play(slots: Slots, capacity: Capacity, counters: Counters) -> None:
        await slots.take(capacity, 0, 3)
        with pytest.raises(CapacityReached) as refused:
            await slots.take(capacity, 0.01, 2)
        assert (refused.value.active_sessions, refused.value.max_sessions) == (3, 4)
        assert (capacity.taken, capacity.waiting, counters.sessions_refused) == (3, 0, 1)

    run(play)


def test_more_than_there_ever_are_is_refused_at_once() -> None:
    async def play(slots: Slots, capacity: Capacity, counters: Counters) -> None:
        with pytest.raises(CapacityReached):
            await slots.take(capacity, PATIENCE * 10, 5)
        assert (capacity.taken, counters.sessions_refused) == (0, 1)

    run(play)


def test_who_stops_waiting_for_many_lets_those_in_who_want_few() -> None:
    async def play(slots: Slots, capacity: Capacity, counters: Counters) -> None:
        del counters
        await slots.take(capacity, 0, 2)
        many = await waiting(slots, capacity, PATIENCE, 4)
        few = [await waiting(slots, capacity, PATIENCE, 1) for _ in range(2)]
        many.cancel()
        await asyncio.gather(*few)
        assert capacity.taken == 4

    run(play)


def test_who_is_cancelled_with_slots_in_hand_gives_them_back() -> None:
    async def play(slots: Slots, capacity: Capacity, counters: Counters) -> None:
        del counters
        await slots.take(capacity, 0, 4)
        task = await waiting(slots, capacity, PATIENCE, 2)
        slots.give_back(capacity, 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert capacity.taken == 2

    run(play)


def test_one_peer_has_its_share_of_each_capacity_and_others_have_theirs() -> None:
    async def play(slots: Slots, capacity: Capacity, counters: Counters) -> None:
        slots = Slots(counters, time.monotonic, per_peer=2)
        CALLER.set(Caller("1", "10.0.0.1"))
        assert await slots.take(capacity, 0, 2) == "10.0.0.1"
        with pytest.raises(CapacityReached, match="one peer"):
            await slots.take(capacity, PATIENCE)
        await slots.take(Capacity(4), 0, 2)
        CALLER.set(Caller("2", "10.0.0.2"))
        assert await slots.take(capacity, 0) == "10.0.0.2"
        slots.give_back(capacity, 1, "10.0.0.1")
        CALLER.set(Caller("3", "10.0.0.1"))
        await slots.take(capacity, 0)
        assert counters.sessions_refused == 1

    run(play)


def test_a_share_that_was_waited_for_in_vain_is_free_again() -> None:
    async def play(slots: Slots, capacity: Capacity, counters: Counters) -> None:
        slots = Slots(counters, time.monotonic, per_peer=4)
        await slots.take(capacity, 0, 4)
        CALLER.set(Caller("1", "10.0.0.1"))
        for _ in range(3):
            with pytest.raises(CapacityReached, match="at capacity"):
                await slots.take(capacity, 0, 4)

    run(play)
