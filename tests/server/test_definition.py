from __future__ import annotations

import functools

import pytest
from openenv_gym_protocol.tools import CallToolAction, CallToolObservation, ListToolsAction
from openenv_gym_server import Action, Observation
from openenv_gym_server.definition import define

from tests.support.apps.arrays import ArrayEnvironment, Force, Position
from tests.support.apps.counting import CountAction, CountingEnvironment, CountObservation, CountState
from tests.support.apps.exclusive import Board


def make() -> CountingEnvironment:
    return CountingEnvironment()


@pytest.mark.parametrize(
    ("factory", "name"),
    [(CountingEnvironment, "CountingEnvironment"), (make, "make"), (functools.partial(make), "environment")],
)
def test_the_name_is_the_factorys_unless_it_is_given(factory: type, name: str) -> None:
    assert define(factory, CountAction, CountObservation).name == name
    assert define(factory, CountAction, CountObservation, name="other").name == "other"


def test_the_environment_is_named_by_its_class_and_the_factory_by_itself() -> None:
    definition = define(make, CountAction, CountObservation)
    assert (definition.class_name, definition.factory_name) == ("CountingEnvironment", "make")


def test_models_that_are_not_given_are_inferred() -> None:
    definition = define(CountingEnvironment, CountAction, CountObservation)
    assert definition.state_class is CountState
    assert definition.reset_observation_class is CountObservation
    assert define(make, CountAction, CountObservation, reset_observation_class=Board).reset_observation_class is Board


@pytest.mark.parametrize("action", [Action, CallToolAction, ListToolsAction])
def test_tools_can_be_called_where_the_action_leaves_room_for_them(action: type[Action]) -> None:
    definition = define(CountingEnvironment, action, CallToolObservation)
    assert definition.tool_actions == {"list_tools": ListToolsAction, "call_tool": CallToolAction}


def test_a_typed_action_leaves_no_room_for_tools() -> None:
    assert define(CountingEnvironment, CountAction, Observation).tool_actions == {}


def test_array_fields_of_the_action_are_known() -> None:
    assert list(define(ArrayEnvironment, Force, Position).action_arrays) == ["force"]


def test_a_factory_must_be_callable() -> None:
    with pytest.raises(TypeError):
        define(CountingEnvironment(), CountAction, CountObservation)  # type: ignore[arg-type]
