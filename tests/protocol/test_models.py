"""The base models: openenv's names and rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.models import Action, Observation, State
from pydantic import ValidationError


def test_an_action_refuses_an_unknown_key() -> None:
    with pytest.raises(ValidationError):
        Action.model_validate({"metadata": {}, "extra": 1})


def test_an_observation_refuses_an_unknown_key() -> None:
    with pytest.raises(ValidationError):
        Observation.model_validate({"extra": 1})


def test_a_state_keeps_unknown_keys() -> None:
    assert State.model_validate({"level": 3}).model_dump() == {"episode_id": None, "step_count": 0, "level": 3}


def test_an_observation_starts_with_no_reward_and_not_done() -> None:
    assert Observation().model_dump() == {"done": False, "reward": None, "metadata": {}}


def test_a_numpy_reward_becomes_a_plain_number() -> None:
    reward = Observation.model_validate({"reward": np.float32(0.5)}).reward
    assert (type(reward), reward) == (float, 0.5)


def test_an_assignment_is_checked() -> None:
    state = State()
    with pytest.raises(ValidationError):
        state.step_count = -1


class Picture(Observation):
    """Has a field of a type that pydantic does not know."""

    pixels: np.ndarray[Any, Any]


def test_an_array_may_be_a_field() -> None:
    pixels = np.zeros((2, 2), np.uint8)
    assert Picture(pixels=pixels).pixels is pixels
