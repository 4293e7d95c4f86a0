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
