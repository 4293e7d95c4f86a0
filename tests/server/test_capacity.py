from __future__ import annotations

import pytest
from openenv_gym_server.capacity import Capacity


def test_a_free_slot_is_granted_at_once() -> None:
    capacity = Capacity(2)
    assert capacity.ask(now=0, patience=5).granted
    assert not capacity.full


def test_who_finds_no_slot_waits() -> None:
    capacity = Capacity(1)
    capacity.ask(now=0, patience=5)
    assert not capacity.ask(now=0, patience=5).granted
    assert capacity.waiting == 1


def test_a_slot_given_back_goes_to_who_waited_first() -> None:
    capacity = Capacity(1)
    capacity.ask(now=0, patience=5)
    first, second = capacity.ask(now=1, patience=5), capacity.ask(now=2, patience=5)
    assert capacity.give_back(now=3) is first
    assert (first.granted, second.granted) == (True, False)
    assert capacity.taken == 1


def test_who_lost_patience_gets_no_slot() -> None:
    capacity = Capacity(1)
    capacity.ask(now=0, patience=5)
    capacity.ask(now=0, patience=1)
    patient = capacity.ask(now=0, patience=9)
    assert capacity.give_back(now=2) is patient


def test_who_gave_up_gets_no_slot() -> None:
    capacity = Capacity(1)
    capacity.ask(now=0, patience=5)
    capacity.give_up(capacity.ask(now=0, patience=5))
    assert capacity.give_back(now=1) is None
    assert capacity.taken == 0


def test_nobody_overtakes_those_who_wait() -> None:
    capacity = Capacity(1)
    capacity.ask(now=0, patience=5)
    waiting = capacity.ask(now=0, patience=5)
    capacity.give_back(now=1)
    assert not capacity.ask(now=1, patience=0).granted
    assert waiting.granted


@pytest.mark.parametrize("slots", [1, 3])
def test_all_slots_can_be_had_again(slots: int) -> None:
    capacity = Capacity(slots)
    for _ in range(3):
        tickets = [capacity.ask(now=0, patience=0) for _ in range(slots)]
        assert all(ticket.granted for ticket in tickets)
        assert capacity.full
        for _ in tickets:
            capacity.give_back(now=0)
    assert capacity.taken == 0


def test_several_slots_are_had_at_once_or_not_at_all() -> None:
    capacity = Capacity(4)
    capacity.ask(now=0, patience=5, slots=3)
    waiting = capacity.ask(now=0, patience=5, slots=2)
    assert not waiting.granted
    assert capacity.taken == 3
    assert capacity.give_back(now=1, slots=3) is waiting
    assert capacity.taken == 2


def test_who_waits_for_many_is_not_overtaken_by_who_wants_few() -> None:
    capacity = Capacity(4)
    capacity.ask(now=0, patience=5, slots=2)
    many = capacity.ask(now=0, patience=5, slots=4)
    few = capacity.ask(now=0, patience=9, slots=1)
    assert not few.granted
    assert capacity.give_back(now=1) is None
    assert capacity.give_back(now=1) is many
    assert capacity.give_back(now=2, slots=4) is few


def test_who_gave_up_asking_for_many_lets_the_next_in() -> None:
    capacity = Capacity(4)
    capacity.ask(now=0, patience=5, slots=2)
    capacity.give_up(capacity.ask(now=0, patience=5, slots=4))
    first, second = (capacity.ask(now=0, patience=5, slots=1) for _ in range(2))
    assert first.granted
    assert second.granted
    capacity.ask(now=0, patience=1, slots=4)
    last = capacity.ask(now=0, patience=9, slots=1)
    assert capacity.give_back(now=2, slots=1) is last
    assert capacity.admit(now=2) is None
