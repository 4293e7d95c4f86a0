from __future__ import annotations

from openenv_gym.providers.deadline import Deadline


def test_a_deadline_ahead_has_time_left_and_bounds_it() -> None:
    deadline = Deadline(100.0)
    assert 99.0 < deadline.remaining() <= 100.0
    assert deadline.remaining(at_most=2.0) == 2.0
    assert not deadline.passed


def test_a_passed_deadline_never_gives_a_negative_time() -> None:
    deadline = Deadline(-5.0)
    assert deadline.remaining() == 0.0
    assert deadline.remaining(at_most=2.0) == 0.0
    assert deadline.passed
