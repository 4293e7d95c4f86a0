from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openenv_gym_protocol.errors import ExecutionError
from openenv_gym_server import Observation, State
from openenv_gym_server.serialisation import error_to_json, observation_frame, state_data, take_apart, to_json
from pydantic import BaseModel


class Seen(Observation):
    text: str = ""
    value: Any = None


class Foreign(BaseModel):
    """A model of nobody's base class."""

    text: str = "x"


def apart(observation: Any, allow: bool = False) -> Any:
    return take_apart(observation, allow_nonfinite_reward=allow)


def framed(observation: Any, allow: bool = False) -> Any:
    """The data of the frame that tells of an observation."""
    frame = json.loads(observation_frame(apart(observation, allow)))
    assert frame.keys() == {"type", "data"}
    assert frame["type"] == "observation"
    return frame["data"]


def test_reward_and_done_travel_beside_the_observation() -> None:
    assert framed(Seen(text="hi", reward=3, done=True)) == {
        "observation": {"metadata": {}, "text": "hi", "value": None},
        "reward": 3,
        "done": True,
    }


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.booleans() | st.none())
def test_a_reward_travels_as_the_number_that_it_is(reward: Any) -> None:
    sent = framed(Seen.model_construct(reward=reward))["reward"]
    assert (type(sent), repr(sent)) == (type(reward), repr(reward))


def test_metadata_is_repeated_on_top_when_there_is_some() -> None:
    data = framed(Seen(metadata={"a": 1}))
    assert data["metadata"] == data["observation"]["metadata"] == {"a": 1}


def test_an_http_body_has_a_float_reward_and_always_metadata() -> None:
    assert apart(Seen(reward=True)).body() == {
        "observation": {"metadata": {}, "text": "", "value": None},
        "reward": 1.0,
        "done": False,
        "metadata": None,
    }


def test_any_pydantic_model_is_an_observation() -> None:
    assert framed(Foreign()) == {"observation": {"text": "x"}, "reward": None, "done": False}


@pytest.mark.parametrize("returned", [None, {"text": "x"}, (Seen(), 0.0)])
def test_anything_else_is_the_environments_error(returned: Any) -> None:
    with pytest.raises(ExecutionError, match=type(returned).__name__):
        apart(returned)


NO_NUMBERS = [math.nan, math.inf, -math.inf, np.float32("nan"), np.float64("inf"), np.array(math.nan), Decimal("NaN")]


@pytest.mark.parametrize("reward", NO_NUMBERS, ids=repr)
def test_a_reward_that_is_no_number_fails_unless_allowed(reward: Any) -> None:
    # model_copy does not validate, and so lets every kind of number in.
    seen = Seen().model_copy(update={"reward": reward})
    with pytest.raises(ExecutionError, match="reward"):
        apart(seen)
    assert framed(seen, allow=True)["reward"] is None


@pytest.mark.parametrize("reward", [3, 2.5, True, None, 10**400], ids=str)
def test_any_other_reward_is_left_as_it_is(reward: Any) -> None:
    assert apart(Seen(reward=reward)).reward == reward


def test_a_state_is_a_model_or_a_mapping_or_nothing() -> None:
    assert state_data(State(episode_id="e", extra=1)) == {"episode_id": "e", "step_count": 0, "extra": 1}  # type: ignore[call-arg]
    assert state_data({"a": 1}) == {"a": 1}
    assert state_data(None) == {}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1, 2.5, None, True, "é"], '[1,2.5,null,true,"é"]'),
        ([math.nan, math.inf], "[null,null]"),
        ({"a": np.arange(2), "b": np.float32(0.5)}, '{"a":[0,1],"b":0.5}'),
        (np.array([[1.0, math.nan]]), "[[1.0,null]]"),
        ({1: (1, 2)}, '{"1":[1,2]}'),
        (b"hello", '"hello"'),
    ],
)
def test_values_are_written_as_json(value: Any, text: str) -> None:
    assert to_json(value) == text


def test_an_error_tells_of_lone_surrogates_by_their_escapes() -> None:
    assert error_to_json({"a\ud800": ["\udfff", (Seen(text="x\ud800"),)]}) == to_json(
        {"a\\ud800": ["\\udfff", [{**Seen().model_dump(), "text": "x\\ud800"}]]}
    )


def test_what_json_cannot_carry_is_an_error() -> None:
    circle: list[Any] = []
    circle.append(circle)
    for value in (object(), b"\xff", circle):
        for write in (to_json, error_to_json):
            with pytest.raises(ExecutionError):
                write(value)
    with pytest.raises(ExecutionError):
        to_json({"text": "a\ud800"})
