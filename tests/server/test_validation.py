from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.errors import InvalidMessage
from openenv_gym_server.definition import Definition, define
from openenv_gym_server.traits import find_method
from openenv_gym_server.validation import action_reader, read_reset, refused
from pydantic import BaseModel, ValidationError

from tests.support.apps import arrays, counting, exclusive

COUNTING = define(counting.CountingEnvironment, counting.CountAction, counting.CountObservation)
EXCLUSIVE = define(exclusive.ExclusiveEnvironment, exclusive.Move, exclusive.Board)
ARRAYS = define(arrays.ArrayEnvironment, arrays.Force, arrays.Position)
RESET = find_method(exclusive.ExclusiveEnvironment, "reset", awaiting=False)


def read_action(definition: Definition, data: dict[str, Any]) -> BaseModel:
    try:
        return action_reader(definition)(data)
    except ValidationError as error:
        raise refused(error) from error


def test_an_action_is_its_model() -> None:
    assert read_action(COUNTING, {"add": "5"}) == counting.CountAction(add=5)


@pytest.mark.parametrize("data", [{"add": "x"}, {"add": None}, {"sub": 1}, {"metadata": 3}])
def test_a_wrong_action_names_its_faults(data: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessage) as caught:
        read_action(COUNTING, data)
    assert caught.value.errors[0]["loc"] == tuple(data)


def test_a_model_that_validates_in_its_own_way_is_asked_to() -> None:
    class Tolerant(counting.CountAction):
        @classmethod
        def model_validate(cls, obj: Any, **options: Any) -> Any:
            return super().model_validate({"add": len(obj)}, **options)

    definition = define(counting.CountingEnvironment, Tolerant, counting.CountObservation)
    action = read_action(definition, {"any": 1, "thing": 2})
    assert (type(action), action.model_dump()) == (Tolerant, {"add": 2, "metadata": {}})


@pytest.mark.parametrize("force", [[[1.0], [1.0, 2.0]], ["x"], "x", None])
def test_a_value_that_is_no_array_is_refused(force: Any) -> None:
    with pytest.raises(InvalidMessage):
        read_action(ARRAYS, {"force": force})


def test_keys_that_were_not_sent_are_not_given() -> None:
    assert read_reset(EXCLUSIVE, RESET, {}) == {}
    assert read_reset(EXCLUSIVE, RESET, {"seed": None}) == {"seed": None}


def test_sent_keys_are_checked_and_unknown_ones_left_out() -> None:
    sent = {"seed": "7", "level": "hard", "size": 4, "other": 1, "self": 2}
    assert read_reset(EXCLUSIVE, RESET, sent) == {"seed": 7, "level": "hard", "size": 4}


@pytest.mark.parametrize("data", [{"seed": -1}, {"episode_id": "x" * 256}, {"level": "soft"}, {"size": "big"}])
def test_a_wrong_value_names_its_key(data: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessage) as caught:
        read_reset(EXCLUSIVE, RESET, data)
    assert caught.value.errors[0]["loc"] == tuple(data)


def test_options_of_an_environment_of_another_kit_are_passed_as_they_are() -> None:
    class Foreign:
        def reset(self, seed: int | None = None, size: int = 3) -> counting.CountObservation:
            return counting.CountObservation()

        def step(self, action: counting.CountAction) -> counting.CountObservation:
            return counting.CountObservation()

    definition = define(Foreign, counting.CountAction, counting.CountObservation)
    reset = find_method(Foreign, "reset", awaiting=False)
    assert read_reset(definition, reset, {"size": "4"}) == {"size": "4"}
