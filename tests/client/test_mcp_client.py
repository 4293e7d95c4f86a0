"""Listing and calling tools, against real servers; the errors are typed, the schemas are those of functions."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from openenv_gym_protocol.errors import (
    ExecutionError,
    FailureClass,
    InvalidAction,
    UnexpectedReply,
    UnknownMessageType,
)
from openenv_gym_protocol.tool_errors import (
    InvalidToolArguments,
    ToolCallError,
    ToolNotFound,
    ToolRaised,
    ToolTimeout,
    tool_error,
)
from openenv_gym_protocol.tools import CallToolAction, ListToolsAction, ListToolsObservation

from openenv_gym import MCPToolClient, errors
from openenv_gym.client import SyncEnvClient
from tests.support.http import http_client
from tests.support.servers import RunningServer, running_server

COUNTER = "tests.support.apps.tools:counter_app"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(COUNTER) as server:
        yield server


@pytest.fixture
def env(server: RunningServer) -> Iterator[Any]:
    with MCPToolClient(server.base_url).sync() as env:
        yield env


def test_tools_are_listed_once_and_again_when_asked(env: Any) -> None:
    tools = env.list_tools()
    assert [tool.name for tool in tools][:2] == ["count", "read_then_write"]
    tools.clear()
    assert env.list_tools() is not env.list_tools(use_cache=False)
    assert env.get_tool("count").description == "Counts."
    assert (env.get_tool("nope"), env.has_tool("nope"), env.has_tool("count")) == (None, False, True)
    assert env.state().step_count == 0


def test_a_call_returns_the_plain_value_and_is_a_step(env: Any) -> None:
    env.reset()
    assert env.call_tool("count", by=2) == 2
    result = env.call("count", {"by": 1})
    assert (result.data, result.reward, result.done) == (3, 1.0, True)
    assert result.structured_content == {"result": 3}
    state = env.state()
    assert (state.step_count, state.episode_return) == (2, 1.5)


def test_pictures_are_in_the_content(env: Any) -> None:
    result = env.call("picture")
    assert [block["type"] for block in result.content] == ["text", "image"]


def test_the_same_without_the_sync_twin(server: RunningServer) -> None:
    async def play() -> list[Any]:
        async with MCPToolClient(server.base_url) as env:
            await env.reset()
            return [await env.call_tool("later"), await env.has_tool("count")]

    assert asyncio.run(play()) == ["later", True]


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "failure"),
    [
        ("nope", {}, ToolNotFound, FailureClass.VALIDATION),
        ("reset", {}, ToolNotFound, FailureClass.VALIDATION),
        ("count", {"to": 1}, InvalidToolArguments, FailureClass.VALIDATION),
        ("count", {"by": "x"}, ToolRaised, FailureClass.ENVIRONMENT),
        ("fail", {}, ToolRaised, FailureClass.ENVIRONMENT),
        ("hang", {}, ToolTimeout, FailureClass.TIMEOUT),
    ],
)
@pytest.mark.parametrize("mode", ["simulation", "production"])
def test_a_call_without_a_result_is_a_typed_error_and_the_session_goes_on(
    server: RunningServer, mode: str, name: str, arguments: dict[str, Any], kind: type, failure: FailureClass
) -> None:
    env: Any
    with MCPToolClient(server.base_url, mode=mode).sync() as env:
        env.call_tool("count")
        with pytest.raises(kind) as caught:
            env.call_tool(name, **arguments)
        assert isinstance(caught.value, ToolCallError)
        assert (caught.value.failure, caught.value.tool_name) == (failure, name)
        assert env.call_tool("count") == 2


def test_the_errors_are_where_users_look_for_them_and_can_be_pickled() -> None:
    assert errors.ToolCallError is ToolCallError
    assert issubclass(ToolCallError, RuntimeError)  # which openenv's client raises
    error = pickle.loads(pickle.dumps(tool_error("timeout", "late", "look")))
    assert (type(error), error.message, error.tool_name) == (ToolTimeout, "Tool 'look' failed: late", "look")
    assert type(tool_error("something new", "", "look")) is ToolRaised


def test_the_schemas_are_those_of_functions(env: Any) -> None:
    schemas = {each["function"]["name"]: each for each in env.function_schemas()}
    count = schemas["count"]
    assert count["type"] == "function"
    assert count["function"]["description"] == "Counts."
    assert count["function"]["parameters"]["properties"]["by"]["description"] == "How far."
    for each in schemas.values():
        parameters = each["function"]["parameters"]
        jsonschema.Draft202012Validator.check_schema(parameters)
        assert (parameters["type"], isinstance(parameters["properties"], dict)) == ("object", True)


def test_a_tool_may_have_an_argument_called_name() -> None:
    with running_server("tests.support.apps.tools:handwritten_app") as server:
        env: Any
        with MCPToolClient(server.base_url).sync() as env:
            assert env.call_tool("greet", name="Ada") == "Hello Ada"
            assert [tool.name for tool in env.list_tools()] == ["greet"]


def test_other_actions_and_observations_are_kept(env: Any) -> None:
    assert isinstance(env.step(ListToolsAction()).observation, ListToolsObservation)
    stepped = env.step({"type": "call_tool", "tool_name": "count"})
    assert stepped.observation.result["data"] == 1
    assert env.step(CallToolAction(tool_name="count")).reward == 0.5
    with pytest.raises(InvalidAction):
        env.step(3)


def test_an_agent_plays_at_the_sessions_address(server: RunningServer, env: Any) -> None:
    env.reset()
    url = env.agent_url()
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "count", "arguments": {}}, "id": 1}
    assert url == f"{server.base_url}/mcp?session_id={env.session_id()}"
    call["params"]["session_id"] = env.session_id()  # type: ignore[index]
    with http_client(server) as client:
        client.post("/mcp", json=call)
    assert (env.state().step_count, env.state().episode_return) == (1, 0.5)


def test_a_client_attaches_to_a_session_by_its_address(server: RunningServer) -> None:
    call = {"jsonrpc": "2.0", "method": "openenv/session/create", "params": {}, "id": 1}
    with http_client(server) as client:
        created = client.post("/mcp", json=call).json()["result"]["session_id"]
    env: Any
    for number in (1, 2):
        with MCPToolClient(f"{server.base_url}?session_id={created}").sync() as env:
            assert env.session_id() == created
            assert env.agent_url() == f"{server.base_url}/mcp?session_id={created}"
            assert env.call_tool("count") == number


def test_in_production_tools_are_all_there_is() -> None:
    with running_server(COUNTER, env={"OPENENV_MODE": "production"}) as server:
        env: Any
        with MCPToolClient(server.base_url, mode="production").sync() as env:
            result = env.call("only_production")
            assert (result.data, result.reward, result.done) == ("p", None, False)
            with pytest.raises(UnknownMessageType, match="production"):
                env.reset()
        with MCPToolClient(server.base_url).sync() as env, pytest.raises(UnknownMessageType, match="production"):
            env.call_tool("count")


def test_an_environment_without_tools_says_so() -> None:
    with running_server("tests.support.apps.counting:app") as server:
        env: Any
        with MCPToolClient(server.base_url).sync() as env:
            with pytest.raises(ExecutionError, match="no tools"):
                env.list_tools()
            with pytest.raises((errors.InvalidMessage, UnexpectedReply)):
                env.call_tool("count")


def test_the_sync_twin_is_the_one_of_every_client(server: RunningServer) -> None:
    assert type(MCPToolClient(server.base_url).sync()) is SyncEnvClient
