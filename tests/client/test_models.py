from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.models import Action, Observation, State
from openenv_gym_protocol.tools import CallToolAction
from pydantic import Field

from openenv_gym.client import EnvClient, StepResult
from openenv_gym.client.models import ClientModels, Model, generic_arguments

A = TypeVar("A")
O = TypeVar("O")  # noqa: E741 - a type parameter by the letter of what it stands for


class Move(Action):
    to: int
    by: Any = None


class View(Observation):
    board: list[int]


class Base(EnvClient[A, View, State], Generic[A]):
    pass


class Turned(EnvClient[A, O, State], Generic[O, A]):
    pass


@dataclass
class PlainMove:
    to: int


@dataclass
class PlainView:
    board: list[int]
    done: bool = False


class Direct(EnvClient[Move, View, State]):
    pass


class Further(Direct):
    pass


@pytest.mark.parametrize("client", [Direct, Further])
def test_the_models_are_those_that_the_class_names(client: type) -> None:
    assert generic_arguments(client, EnvClient) == (Move, View, State)


def test_the_models_are_found_through_generic_classes_between() -> None:
    class Through(Base[Move]):
        pass

    class Crossed(Turned[View, Move]):
        pass

    assert generic_arguments(Through, EnvClient) == (Move, View, State)
    assert generic_arguments(Crossed, EnvClient) == (Move, View, State)


def test_the_models_are_found_beside_a_mixin() -> None:
    class Mixin:
        pass

    class Mixed(Mixin, EnvClient[Move, View, State]):
        pass

    assert ClientModels.of(Mixed, EnvClient).action is not None


@pytest.mark.parametrize("client", [EnvClient, Base])
def test_a_class_without_models_is_refused_with_what_to_write(client: type[EnvClient[Any, Any, Any]]) -> None:
    with pytest.raises(errors.ConfigurationError, match="GenericEnvClient"):
        client("http://localhost:8000")


def test_a_type_that_no_model_can_be_made_of_is_refused() -> None:
    class NoModel:
        pass

    class Odd(EnvClient[NoModel, View, State]):
        pass

    with pytest.raises(errors.ConfigurationError, match="action model"):
        Odd("http://localhost:8000")


def test_a_class_that_reads_and_writes_everything_itself_needs_no_models() -> None:
    class Own(EnvClient):  # type: ignore[type-arg]
        def _step_payload(self, action: int) -> dict[str, Any]:
            return {"to": action}

        def _parse_result(self, payload: dict[str, Any]) -> StepResult[Any]:
            return StepResult(payload)

        def _parse_state(self, payload: dict[str, Any]) -> Any:
            return payload

    client = Own("http://localhost:8000")
    assert client._step_payload(3) == {"to": 3}


def test_an_action_is_sent_without_metadata_when_there_is_none() -> None:
    assert Model(Move).write(Move(to=1)) == {"to": 1, "by": None}
    assert Model(Move).write(Move(to=1, metadata={"a": 1}))["metadata"] == {"a": 1}


def test_an_action_may_be_given_by_its_fields_which_are_checked() -> None:
    assert Model(Move).write({"to": "5"}) == {"to": 5, "by": None}
    with pytest.raises(errors.InvalidAction, match="to"):
        Model(Move).write({"to": "far"})
    with pytest.raises(errors.InvalidAction, match="too"):
        Model(Move).write({"to": 1, "too": 2})


def test_an_action_of_another_model_is_sent_as_it_is() -> None:
    written = Model(Move).write(CallToolAction(tool_name="t", arguments={"x": 1}))
    assert written == {"type": "call_tool", "tool_name": "t", "arguments": {"x": 1}}


@pytest.mark.parametrize("action", [3, "north", None, [1]])
def test_what_is_no_action_is_refused(action: Any) -> None:
    with pytest.raises(errors.InvalidAction, match="Move"):
        Model(Move).write(action)


def test_fields_go_by_the_names_that_the_server_reads() -> None:
    class Aliased(Action):
        to: int = Field(alias="target")

    assert Model(Aliased).write(Aliased(target=1)) == {"target": 1}


def test_numpy_values_stay_for_the_encoder() -> None:
    move = Model(Move).write(Move(to=1, by=np.arange(3)))
    assert isinstance(move["by"], np.ndarray)


def models(action: Any, observation: Any) -> ClientModels:
    return ClientModels(Model(action), Model(observation), None)


def test_reward_done_and_metadata_enter_an_observation_that_has_them() -> None:
    payload = {"observation": {"board": [1]}, "reward": 1, "done": True, "metadata": {"a": 1}}
    view = models(Move, View).read_observation(payload)
    assert view == View(board=[1], reward=1, done=True, metadata={"a": 1})
    assert models(PlainMove, PlainView).read_observation(payload) == PlainView(board=[1], done=True)


def test_a_reset_may_observe_by_a_model_of_its_own() -> None:
    class Start(Observation):
        rules: str

    either = models(Move, View | Start)
    data = {"reward": None, "done": False}
    assert either.read_observation({"observation": {"rules": "none"}, **data}) == Start(rules="none")
    assert either.read_observation({"observation": {"board": [1]}, **data}) == View(board=[1])


def test_metadata_inside_the_observation_is_read_too() -> None:
    payload = {"observation": {"board": [], "metadata": {"a": 1}}, "reward": None, "done": False}
    assert models(Move, View).read_observation(payload).metadata == {"a": 1}


def test_an_observation_that_does_not_fit_names_the_field() -> None:
    with pytest.raises(errors.UnexpectedReply, match="board"):
        models(Move, View).read_observation({"observation": {"bored": [1]}})
