"""A set of lanes says the same of them in each of its forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_gym.bridge.lane_sets import all_lanes, bits_of, lane_set, lanes_in

COUNT = 70
"""More lanes than any machine word has bits."""

some_lanes = st.lists(st.integers(0, COUNT - 1), unique=True)


@given(some_lanes)
def test_lanes_are_the_same_as_bits_as_rows_and_as_places(lanes: list[int]) -> None:
    chosen = lane_set(lanes, COUNT)
    column = np.arange(COUNT) * 10
    assert list(chosen.lanes) == lanes
    assert lanes_in(chosen.bits) == sorted(lanes)
    assert column[chosen.index].tolist() == [lane * 10 for lane in lanes]
    assert [chosen.places[lane] for lane in lanes] == list(range(len(lanes)))
    assert chosen.is_ascending == (lanes == sorted(lanes))


@given(some_lanes)
def test_bits_of_lanes_are_those_lanes(lanes: list[int]) -> None:
    assert lanes_in(bits_of(lanes)) == sorted(lanes)


@pytest.mark.parametrize("count", [0, 1, 3, 300])
def test_all_lanes_in_their_order_are_one_set_whoever_names_them(count: int) -> None:
    everyone = all_lanes(count)
    assert lane_set(everyone.lanes, count) is everyone
    assert lane_set(range(count), count) is everyone
    assert lane_set(list(range(count)), count) is everyone
    assert everyone.lanes == tuple(range(count))
    assert lanes_in(everyone.bits) == list(range(count))


def test_all_lanes_in_another_order_are_taken_in_that() -> None:
    turned = lane_set([2, 1, 0], 3)
    assert turned.bits == all_lanes(3).bits
    assert np.arange(3)[turned.index].tolist() == [2, 1, 0]
    assert not turned.is_ascending
