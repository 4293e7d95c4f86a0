"""What agents reach: tools, in both modes, of every kind of environment that has some."""

from __future__ import annotations

import pytest
from openenv_gym_protocol.tools import CallToolAction, CallToolObservation
from openenv_gym_server.agent_tools import NoTools, call_tool, list_tools
from openenv_gym_server.config import ServerConfig, ServerMode
from openenv_gym_server.contract import Contract
from openenv_gym_server.definition import define
from openenv_gym_server.dispatch import Host
from openenv_gym_server.loops import run_to_end
from pydantic import BaseModel

from tests.support.apps import tools
from tests.support.apps.counting import CountAction, CountingEnvironment, CountObservation


def host_of(
    environment: type,
    action: type[BaseModel] = CallToolAction,
    observation: type[BaseModel] = CallToolObservation,
    mode: ServerMode = ServerMode.SIMULATION,
) -> Host:
    host = Host(Contract(define(environment, action, observation), ServerConfig(mode=mode)), "session-1")
    run_to_end(host.construct())
    return host


@pytest.mark.parametrize("mode", list(ServerMode))
def test_tools_are_listed_and_called_in_both_modes(mode: ServerMode) -> None:
    host = host_of(tools.Adder, mode=mode)
    assert [tool.name for tool in run_to_end(list_tools(host))] == ["add"]
    called = run_to_end(call_tool(host, "add", {"a": 1, "b": 2}))
    assert called.error is None
    assert called.result["data"] == 3


def test_a_call_counts_as_a_step_and_a_list_does_not() -> None:
    host = host_of(tools.Counter)
    run_to_end(list_tools(host))
    run_to_end(call_tool(host, "count", {}))
    assert run_to_end(host.state())["step_count"] == host.tally.steps == 1


def test_an_agent_sees_no_reward() -> None:
    called = run_to_end(call_tool(host_of(tools.Counter), "count", {}))
    assert "reward" not in str(called)


def test_tools_are_reached_beside_an_action_class_of_the_environments_own() -> None:
    host = host_of(tools.Adder, CountAction, CountObservation)
    assert run_to_end(call_tool(host, "add", {"a": 1, "b": 2})).result["data"] == 3


def test_an_environment_that_answers_tool_actions_by_itself_has_tools() -> None:
    host = host_of(tools.Handwritten)
    assert [tool.name for tool in run_to_end(list_tools(host))] == ["greet"]
    called = run_to_end(call_tool(host, "greet", {"name": "Ada"}))
    assert called.result == "Hello Ada"


def test_an_environment_without_tools_says_so() -> None:
    host = host_of(CountingEnvironment, CountAction, CountObservation)
    with pytest.raises(NoTools, match="CountingEnvironment"):
        run_to_end(list_tools(host))
    with pytest.raises(NoTools, match="CountingEnvironment"):
        run_to_end(call_tool(host, "add", {}))
    assert host.tally.steps == 0


def test_the_environment_learns_the_servers_mode() -> None:
    for mode in ServerMode:
        listed = run_to_end(list_tools(host_of(tools.Counter, mode=mode)))
        assert [tool.name for tool in listed if tool.name.startswith("only_")] == [f"only_{mode.value}"]
