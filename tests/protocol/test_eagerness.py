from __future__ import annotations

import pytest
from openenv_gym_protocol.eagerness import MOST_ASLEEP, Eagerness, is_allowed


def slept_through(eagerness: Eagerness) -> int:
    """The waits until one is to be awake in."""
    for count in range(2 * MOST_ASLEEP):
        if eagerness.is_due():
            return count
    raise AssertionError("it sleeps for good")


def test_the_first_wait_is_awake_and_so_is_every_one_after_those_that_paid() -> None:
    eagerness = Eagerness(is_allowed=True)
    for _ in range(5):
        assert eagerness.is_due()
        eagerness.note(has_paid=True)


def test_waits_in_vain_become_rare_up_to_a_bound() -> None:
    eagerness = Eagerness(is_allowed=True)
    slept = []
    for _ in range(11):
        slept.append(slept_through(eagerness))
        eagerness.note(has_paid=False)
    assert slept == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 256]
    assert MOST_ASLEEP == 256


def test_one_that_paid_among_many_in_vain_does_not_keep_it_awake_for_long() -> None:
    eagerness = Eagerness(is_allowed=True)
    for _ in range(5):
        slept_through(eagerness)
        eagerness.note(has_paid=False)
    assert slept_through(eagerness) == 16
    eagerness.note(has_paid=True)
    assert eagerness.is_due()
    eagerness.note(has_paid=False)
    assert slept_through(eagerness) == 16


def test_when_all_pay_again_what_was_in_vain_is_forgotten() -> None:
    eagerness = Eagerness(is_allowed=True)
    for _ in range(12):
        slept_through(eagerness)
        eagerness.note(has_paid=False)
    slept_through(eagerness)
    for _ in range(9):
        eagerness.note(has_paid=True)
        assert eagerness.is_due()
    eagerness.note(has_paid=False)
    assert slept_through(eagerness) == 1


def test_what_is_not_allowed_is_never_due() -> None:
    eagerness = Eagerness(is_allowed=False)
    assert not any(eagerness.is_due() for _ in range(3 * MOST_ASLEEP))


@pytest.mark.parametrize(
    ("environ", "expected"), [({}, True), ({"OPENENV_GYM_SPIN": "0"}, False), ({"OPENENV_GYM_SPIN": "1"}, True)]
)
def test_the_variable_turns_it_off(environ: dict[str, str], expected: bool) -> None:
    assert is_allowed(environ) is expected
