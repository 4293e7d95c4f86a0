"""What a trainer cannot work with is refused by name, with what to do about it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from openenv_gym_protocol.errors import ConfigurationError

import openenv_gym
from openenv_gym.trainers.checks import check_numeric_spaces, check_vector_env

BOX = spaces.Box(-1, 1, (3,))
GOOD: list[spaces.Space[Any]] = [
    BOX,
    spaces.Discrete(4),
    spaces.MultiDiscrete([2, 3]),
    spaces.MultiBinary(4),
]
BAD: list[spaces.Space[Any]] = [
    spaces.Box(-1, 1, ()),
    spaces.Discrete(4, start=5),
    spaces.MultiDiscrete([2, 3], start=[0, 1]),
    spaces.MultiDiscrete(np.array([[2, 3]])),
    spaces.Tuple((spaces.Discrete(2),)),
    spaces.Text(5),
    openenv_gym.UnicodeText(5),
    spaces.Sequence(BOX),
    spaces.OneOf((BOX, spaces.Discrete(1))),
]


@pytest.mark.parametrize("space", [*GOOD, spaces.Dict({str(i): each for i, each in enumerate(GOOD)})], ids=str)
def test_numeric_spaces_are_taken(space: spaces.Space[Any]) -> None:
    check_numeric_spaces("It", space, GOOD[1])
    if not isinstance(space, spaces.Dict):
        check_numeric_spaces("It", BOX, space)


@pytest.mark.parametrize("space", BAD, ids=str)
def test_other_spaces_are_refused_by_name(space: spaces.Space[Any]) -> None:
    with pytest.raises(ConfigurationError, match="It does not take observation_space="):
        check_numeric_spaces("It", space, GOOD[1])
    with pytest.raises(ConfigurationError, match=r"It does not take observation_space\['x'\]=.* spaces='flat'"):
        check_numeric_spaces("It", spaces.Dict({"a": BOX, "x": space}), GOOD[1])
    with pytest.raises(ConfigurationError, match="It does not take action_space="):
        check_numeric_spaces("It", BOX, space)


@pytest.mark.parametrize("space", [spaces.Dict({"a": BOX}), spaces.Box(0, 5, (2,), np.int64)], ids=str)
def test_actions_are_neither_dicts_nor_counted_boxes(space: spaces.Space[Any]) -> None:
    with pytest.raises(ConfigurationError, match="It does not take action_space="):
        check_numeric_spaces("It", BOX, space)


def test_a_nested_dict_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"observation_space\['a'\]=Dict"):
        check_numeric_spaces("It", spaces.Dict({"a": spaces.Dict({"b": BOX})}), GOOD[1])


@pytest.mark.parametrize("mode", AutoresetMode)
def test_another_autoreset_mode_is_refused_with_the_right_one(mode: AutoresetMode) -> None:
    envs = gymnasium.make_vec("openenv/CartPole-v1", num_envs=2, autoreset_mode=mode)
    for wanted in AutoresetMode:
        if wanted is mode:
            check_vector_env("It", envs, wanted)
        else:
            with pytest.raises(ConfigurationError, match=f"has '{mode.value}'.*autoreset_mode='{wanted.value}'"):
                check_vector_env("It", envs, wanted)
    envs.metadata.pop("autoreset_mode")
    with pytest.raises(ConfigurationError, match="does not say its own"):
        check_vector_env("It", envs, mode)
    envs.close()


def test_a_single_environment_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"takes a gymnasium\.vector\.VectorEnv"):
        check_vector_env("It", gymnasium.make("openenv/CartPole-v1"), AutoresetMode.SAME_STEP)
