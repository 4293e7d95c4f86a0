from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import Space, spaces
from hypothesis import given
from hypothesis import strategies as st
from openenv_gym_protocol.gymnasium_spaces import space_to_data
from openenv_gym_protocol.vector.bounds import Bounds
from openenv_gym_protocol.vector.columns import layout_of
from openenv_gym_protocol.vector.leaves import Misfit

from tests.support.fixed_spaces import fixed_spaces


def bounds(space: Space[Any]) -> list[Bounds]:
    layout = layout_of(space_to_data(space))
    assert layout is not None
    return layout.bounds()


def is_inside(each: Bounds, value: Any) -> bool:
    try:
        each.check(value)
    except Misfit:
        return False
    return True


SPACES: dict[str, tuple[Space[Any], list[Any], list[Any]]] = {
    "box": (spaces.Box(-1, 1, (2,), np.float32), [[-1.0, 1.0]], [[0.0, 1.5], [-2.0, 0.0], [float("nan"), 0.0]]),
    "box by element": (
        spaces.Box(np.array([0, 5], np.int16), np.array([1, 6], np.int16), dtype=np.int16),
        [[0, 5], [1, 6]],
        [[5, 5], [0, 0]],
    ),
    "box without bounds": (spaces.Box(-np.inf, np.inf, (1,)), [[1e30], [float("inf")]], [[float("nan")]]),
    "scalar box": (spaces.Box(0, 9, (), np.float64), [9.0], [9.5]),
    "discrete": (spaces.Discrete(3, start=-1), [-1, 1], [-2, 2]),
    "multi discrete": (spaces.MultiDiscrete([2, 3], start=[5, 0]), [[5, 2], [6, 0]], [[4, 0], [7, 0], [5, 3]]),
    "multi binary": (spaces.MultiBinary(2), [[0, 1]], [[0, 2], [-1, 0]]),
}


@pytest.mark.parametrize("name", SPACES)
def test_values_outside_are_told_from_those_inside(name: str) -> None:
    space, inside, outside = SPACES[name]
    (each,) = bounds(space)
    assert [is_inside(each, value) for value in inside] == [True] * len(inside)
    assert [is_inside(each, value) for value in outside] == [False] * len(outside)
    array = np.array([*inside, *outside], space.dtype)
    assert each.inside(array, np).tolist() == [True] * len(inside) + [False] * len(outside)


def test_bounds_are_rounded_as_values_are() -> None:
    (each,) = bounds(spaces.Box(0.3, 0.4, (1,), np.float32))
    assert is_inside(each, [float(np.float32(0.3))])
    assert is_inside(each, [float(np.float32(0.4))])


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (spaces.Box(0, 255, (2,), np.uint8), True),
        (spaces.Box(0, 254, (2,), np.uint8), False),
        (spaces.Box(-128, 127, (2,), np.int8), True),
        (spaces.Box(-np.inf, np.inf, (2,)), False),
    ],
)
def test_bounds_that_refuse_nothing_are_known(space: Space[Any], expected: bool) -> None:
    assert bounds(space)[0].are_those_of_the_dtype is expected


@given(st.data())
def test_samples_of_any_fixed_space_are_inside(data: st.DataObject) -> None:
    space = data.draw(fixed_spaces())
    layout = layout_of(space_to_data(space))
    assert layout is not None
    for each, part in zip(layout.bounds(), layout.take_apart(space.sample()), strict=True):
        assert each.inside(np.asarray(part, each.leaf.dtype)[None], np).tolist() == [True]
        assert is_inside(each, np.asarray(part).tolist())
