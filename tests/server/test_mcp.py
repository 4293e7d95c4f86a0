"""Tools listed and called as steps."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.models import Action, Observation, State
from openenv_gym_protocol.tools import CallToolAction, CallToolObservation, ListToolsAction, ListToolsObservation
from openenv_gym_server.mcp import MCPEnvironment


class Calculator(MCPEnvironment):
    def __init__(self) -> None:
        super().__init__([self.add, self.divide])

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Observation:
        return Observation()

    @property
    def state(self) -> State:
        return State()

    def add(self, a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    def divide(self, a: int, b: int) -> float:
        return a / b


def call(environment: MCPEnvironment, name: str, **arguments: Any) -> CallToolObservation:
    observation = environment.step(CallToolAction(tool_name=name, arguments=arguments))
    assert isinstance(observation, CallToolObservation)
    return observation


def test_tools_are_listed_before_any_reset_in_the_order_they_were_added() -> None:
    observation = Calculator().step(ListToolsAction())
    assert isinstance(observation, ListToolsObservation)
    assert [(tool.name, tool.description) for tool in observation.tools] == [("add", "Adds."), ("divide", "")]
    assert (observation.reward, observation.done) == (None, False)


def test_a_call_returns_the_result_and_no_error() -> None:
    observation = call(Calculator(), "add", a=2, b=3)
    assert observation.tool_name == "add"
    assert observation.result["data"] == 5
    assert observation.error is None
    assert (observation.reward, observation.done) == (None, False)


def test_an_unknown_tool_is_an_answer_not_an_exception() -> None:
    observation = call(Calculator(), "nope")
    assert observation.result is None
    assert observation.error is not None
    assert observation.error.model_dump(mode="json") == {
        "error_type": "tool_not_found",
        "message": "Unknown tool: 'nope'",
    }


def test_a_failing_tool_is_an_answer_and_its_traceback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        observation = call(Calculator(), "divide", a=1, b=0)
    assert observation.error is not None
    assert observation.error.error_type == "execution_error"
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


def test_a_wrong_argument_is_the_agents_doing_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    for arguments, kind in [({}, "invalid_args"), ({"a": "x"}, "execution_error")]:
        observation = call(Calculator(), "add", **arguments)
        assert observation.error is not None
        assert observation.error.error_type == kind
    assert not caplog.records


def test_a_tool_can_be_added_later_by_decorator() -> None:
    environment = Calculator()

    @environment.tool
    def negate(a: int) -> int:
        return -a

    assert negate(1) == -1
    assert call(environment, "negate", a=4).result["data"] == -4
    assert [tool.name for tool in environment.tools] == ["add", "divide", "negate"]


def test_two_tools_of_one_name_are_refused() -> None:
    environment = Calculator()
    with pytest.raises(ConfigurationError, match="'add'"):
        environment.tool(environment.add)


def test_other_actions_go_to_the_subclass_or_are_refused() -> None:
    class Move(Action):
        to: int

    class Board(Calculator):
        def _step_impl(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
            assert isinstance(action, Move)
            return Observation(reward=float(action.to))

    assert Board().step(Move(to=3)).reward == 3.0
    with pytest.raises(TypeError, match="Move"):
        Calculator().step(Move(to=3))
