"""Spaces survive being written as JSON."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from gymnasium import Space, spaces
from hypothesis import given, settings
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.gymnasium_spaces import data_to_space, space_to_data

from tests.support.space_strategies import every_space

SPACES: list[Space[Any]] = [
    spaces.Discrete(3),
    spaces.Discrete(3, start=-5),
    spaces.Box(-1, 1, (2, 3), np.float32),
    spaces.Box(-np.inf, np.inf, (), np.float64),
    spaces.Box(np.array([0, -1], np.float32), np.array([np.inf, 1], np.float32), dtype=np.float32),
    spaces.Box(0, 255, (4, 4, 3), np.uint8),
    spaces.Box(-(2**63), 2**63 - 1, (2,), np.int64),
    spaces.Box(0, 2**64 - 1, (1,), np.uint64),
    spaces.Box(-1, 1, (2,), np.float16),
    spaces.MultiDiscrete([3, 4]),
    spaces.MultiDiscrete(np.array([[3, 4], [5, 6]]), start=np.array([[1, 0], [0, 2]])),
    spaces.MultiBinary(4),
    spaces.MultiBinary([2, 3]),
    spaces.Text(10),
    spaces.Text(10, min_length=0, charset="zya"),
    spaces.Dict(OrderedDict(z=spaces.Discrete(2), a=spaces.Dict({"b": spaces.Box(0, 1)}))),
    spaces.Dict({}),
    spaces.Tuple([spaces.Discrete(2), spaces.Tuple([spaces.MultiBinary(2)])]),
    spaces.Sequence(spaces.Box(0, 1, (2,))),
    spaces.Sequence(spaces.Discrete(2), stack=True),
    spaces.OneOf([spaces.Discrete(2), spaces.Text(3)]),
    spaces.Graph(spaces.Box(0, 1, (2,)), spaces.Discrete(3)),
    spaces.Graph(spaces.Discrete(3), None),
]


def through_json(space: Space[Any]) -> Space[Any]:
    return data_to_space(json.loads(json.dumps(space_to_data(space), allow_nan=False)))


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_space_survives_json(space: Space[Any]) -> None:
    copy = through_json(space)
    assert copy == space
    assert type(copy) is type(space)
    assert copy.dtype == space.dtype
    assert repr(copy) == repr(space)


def test_the_order_of_keys_and_characters_is_kept() -> None:
    space = spaces.Dict(OrderedDict(z=spaces.Text(3, charset="zya"), a=spaces.Discrete(2)))
    copy = through_json(space)
    assert isinstance(copy, spaces.Dict)
    assert list(copy.spaces) == ["z", "a"]
    text = copy["z"]
    assert isinstance(text, spaces.Text)
    assert text.character_list == ("z", "y", "a")


@pytest.mark.parametrize(
    ("data", "space"),
    [
        ({"type": "Discrete", "n": 2}, spaces.Discrete(2)),
        ({"type": "Box", "low": 0, "high": 1, "shape": [2]}, spaces.Box(0, 1, (2,), np.float32)),
        ({"type": "Box", "low": "-inf", "high": "inf", "shape": [1]}, spaces.Box(-np.inf, np.inf, (1,), np.float32)),
        ({"type": "Text", "max_length": 3}, spaces.Text(3)),
        ({"type": "MultiDiscrete", "nvec": [2, 3]}, spaces.MultiDiscrete([2, 3])),
        ({"type": "Sequence", "space": {"type": "Discrete", "n": 2}}, spaces.Sequence(spaces.Discrete(2))),
    ],
)
def test_what_is_usual_need_not_be_written(data: dict[str, Any], space: Space[Any]) -> None:
    assert data_to_space(data) == space


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "Nothing"},
        {"type": 3},
        {"type": ["Box"]},
        {"type": "Discrete"},
        {"type": "Discrete", "n": 0},
        {"type": "Discrete", "n": "two"},
        {"type": "Box", "low": 1, "high": 0, "shape": [2]},
        {"type": "Box", "low": [0, 0], "high": 1, "shape": [3]},
        {"type": "Box", "low": 0, "high": 1, "shape": [2], "dtype": "complex"},
        {"type": "Dict", "spaces": {"a": {"type": "Nothing"}}},
        {"type": "Dict", "spaces": [1]},
        {"type": "Box", "low": 0, "high": 1, "shape": [2**40]},
        {"type": "MultiBinary", "n": 2**40},
        {"type": "OneOf", "spaces": []},
        "Discrete",
        None,
    ],
)
def test_what_describes_no_space_is_refused(data: Any) -> None:
    with pytest.raises(ConfigurationError):
        data_to_space(data)


class Odd(spaces.Discrete):
    """A space that nobody registered."""


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Odd"):
        space_to_data(Odd(3))


@given(every_space())
@settings(max_examples=200, deadline=None)
def test_any_nesting_of_spaces_survives_json(space: Space[Any]) -> None:
    assert through_json(space) == space
