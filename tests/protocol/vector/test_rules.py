"""What has to hold between the keys of a message."""

from __future__ import annotations

import math

import pytest
from openenv_gym_protocol.vector import rules


def test_the_lanes_that_stand_twice_are_named() -> None:
    rules.distinct([])
    rules.distinct([3, 1, 2])
    with pytest.raises(ValueError, match=r"\[1, 3\]"):
        rules.distinct([3, 1, 2, 1, 3])


def test_many_lanes_are_not_listed() -> None:
    with pytest.raises(ValueError, match="several"):
        rules.distinct([7] * 1000)


def test_there_is_one_value_for_each_lane() -> None:
    rules.as_long("seeds", None, 3)
    rules.as_long("seeds", [1, 2, 3], 3)
    rules.as_long("rewards", bytes(24), 3, 8)
    for wrong in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match="seeds"):
            rules.as_long("seeds", wrong, 3)


@pytest.mark.parametrize("deadline", [math.inf, -math.inf, math.nan])
def test_a_deadline_is_finite(deadline: float) -> None:
    rules.seconds(None)
    rules.seconds(0.5)
    with pytest.raises(ValueError, match="deadline"):
        rules.seconds(deadline)
