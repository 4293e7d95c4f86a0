from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.gymnasium_spaces import register, space_to_data
from openenv_gym_protocol.space_data import REQUIRED_KEYS, check_space

from openenv_gym.bridge.spaces.text import JsonText, UnicodeText
from tests.support.space_strategies import every_space

SPACES: list[gymnasium.Space[Any]] = [
    spaces.Box(-1, 1, (2, 3)),
    spaces.Box(np.array([-np.inf, 0]), np.array([0, np.inf]), dtype=np.float64),
    spaces.Box(0, 255, (0, 3), np.uint8),
    spaces.Box(0, 1, (), np.float16),
    spaces.Discrete(3, start=-1),
    spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
    spaces.MultiBinary([2, 2]),
    spaces.MultiBinary(4),
    spaces.Text(5),
    spaces.Dict({"a": spaces.Tuple([spaces.Discrete(2), spaces.Text(3)])}),
    spaces.OneOf([spaces.Discrete(2), spaces.Box(0, 1, (2,))]),
    spaces.Sequence(spaces.Discrete(2)),
    spaces.Graph(spaces.Box(0, 1, (2,)), None),
    spaces.Graph(spaces.Box(0, 1, (2,)), spaces.Discrete(2)),
    UnicodeText(5),
    JsonText(5),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_the_data_of_a_space_describes_one(space: gymnasium.Space[Any]) -> None:
    check_space(space_to_data(space), "it")


@given(every_space())
@settings(max_examples=200, deadline=None)
def test_so_does_the_data_of_any_space(space: gymnasium.Space[Any]) -> None:
    check_space(space_to_data(space), "it")


BOX = {"type": "Box", "low": 0, "high": 1, "shape": [2]}
WRONG: list[tuple[Any, str]] = [
    (None, "it describes no space"),
    (spaces.Discrete(2), "it describes no space"),
    ({"n": 2}, "it describes no space"),
    ({"type": "Discret", "n": 2}, "Did you mean 'Discrete'"),
    ({"type": "Discrete"}, "lacks n"),
    ({"type": "Discrete", "n": 0}, "it is empty"),
    ({"type": "Discrete", "n": "many"}, "it is wrong"),
    ({"type": "MultiDiscrete", "nvec": [2, 0]}, "it is empty"),
    ({"type": "MultiDiscrete", "nvec": [2, 3], "start": [0, 0, 0]}, "it "),
    ({**BOX, "dtype": "flaot32"}, "unknown dtype 'flaot32'"),
    ({**BOX, "low": [0, 0, 0]}, "low of 3 numbers, where one or 2"),
    ({**BOX, "high": [1, -1]}, "it is empty"),
    ({**BOX, "shape": [-1]}, "it is wrong"),
    ({**BOX, "high": "infinite"}, "it is wrong"),
    ({"type": "Dict", "spaces": {"a": {"type": "Tuple", "spaces": [BOX, {"type": "Bix"}]}}}, r"it\.a\[1\] is"),
    ({"type": "Dict", "spaces": 5}, "no dict or list"),
    ({"type": "Sequence", "space": {"type": "Text"}}, r"it\.space, a Text, lacks max_length"),
    ({"type": "Graph", "node_space": BOX, "edge_space": {}}, r"it\.edge_space describes"),
]


@pytest.mark.parametrize(("data", "message"), WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_what_describes_no_space_is_refused_naming_the_place(data: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_space(data, "it")


def test_the_types_of_other_packages_are_known_where_they_were_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dice(spaces.Discrete):
        """A space of somebody else's."""

    def read(data: Mapping[str, Any]) -> Dice:
        return Dice(data["sides"])

    with pytest.raises(ConfigurationError):
        check_space({"type": "Dice", "sides": 6}, "it")
    monkeypatch.delitem(REQUIRED_KEYS, "Dice", raising=False)
    register("Dice", Dice, lambda space: {"sides": int(space.n)}, read)
    check_space(space_to_data(Dice(6)), "it")
    del REQUIRED_KEYS["Dice"]
