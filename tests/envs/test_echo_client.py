"""The echo project's client, in both generations of OpenEnv's documentation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from echo_env import CallToolAction, EchoAction, EchoEnv, EchoResult, ListToolsAction
from openenv_gym_protocol.errors import UnexpectedReply
from openenv_gym_registry.projects import bundled_project

from tests.support.servers import running_server


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with running_server("server.app:app", cwd=bundled_project("echo")) as server:
        yield server.base_url


def test_a_reset_greets_in_both_generations(base_url: str) -> None:
    with EchoEnv(base_url=base_url).sync() as env:
        result = env.reset()
    assert result.observation.echoed_message == "Echo environment ready!"
    assert result.observation.metadata["message"] == "Echo environment ready!"
    assert result.observation.message_length == 0
    assert (result.reward, result.done, result.observation.result) == (0.0, False, None)


def test_a_calls_result_is_an_object_that_reads_as_its_plain_value(base_url: str) -> None:
    async def talk() -> None:
        async with EchoEnv(base_url=base_url) as env:
            await env.reset()
            result = await env.step(CallToolAction(tool_name="echo_message", arguments={"message": "Hi, é!"}))
        observation = result.observation
        assert str(observation.result) == f"{observation.result}" == "Hi, é!"
        assert observation.result["data"] == "Hi, é!"
        assert isinstance(observation.result, EchoResult)
        assert (observation.echoed_message, observation.message_length) == ("Hi, é!", 6)
        assert (observation.tool_name, observation.error, result.reward) == ("echo_message", None, None)

    asyncio.run(talk())


def test_echo_with_length_returns_both(base_url: str) -> None:
    with EchoEnv(base_url=base_url).sync() as env:
        result = env.step(CallToolAction(tool_name="echo_with_length", arguments={"message": "abc"}))
    assert result.observation.result["data"] == {"message": "abc", "length": 3}
    assert str(result.observation.result) == "{'message': 'abc', 'length': 3}"
    assert result.observation.echoed_message == "abc"


def test_saying_a_message_is_short_for_the_call(base_url: str) -> None:
    with EchoEnv(base_url=base_url).sync() as env:
        result = env.step(EchoAction(message="short"))
        state = env.state()
    assert result.observation.echoed_message == "short"
    assert state.step_count == 1


def test_a_failed_call_has_an_error_and_no_result(base_url: str) -> None:
    with EchoEnv(base_url=base_url).sync() as env:
        observation = env.step(CallToolAction(tool_name="nope")).observation
    assert observation.error is not None
    assert observation.error.error_type == "tool_not_found"
    assert (observation.result, observation.echoed_message) == (None, None)


def test_the_tools_are_listed(base_url: str) -> None:
    with EchoEnv(base_url=base_url).sync() as env:
        tools = env.step(ListToolsAction()).observation.tools
    assert tools is not None
    assert [tool.name for tool in tools] == ["echo_message", "echo_with_length"]
    assert tools[0].description == "Echo back the provided message."
    assert tools[0].input_schema["properties"]["message"]["description"] == "The message to echo back"


def test_a_server_of_the_first_generation_is_read_as_well() -> None:
    env = EchoEnv(base_url="http://localhost:1")
    payload = {"observation": {"echoed_message": "Hi", "message_length": 2, "later": 1}, "reward": 0.2, "done": False}
    result = env._parse_result(payload)
    assert (result.observation.echoed_message, result.observation.message_length, result.reward) == ("Hi", 2, 0.2)


def test_a_server_that_is_no_echo_is_told() -> None:
    env = EchoEnv(base_url="http://localhost:1")
    with pytest.raises(UnexpectedReply, match="echo environment"):
        env._parse_result({"observation": {"tools": "none"}})
