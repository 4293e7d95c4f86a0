"""The tools through real servers: as actions of Gymnasium, of clients, and as tools of MCP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from openenv_gym_registry.projects import bundled_project
from tools_env import CallToolAction, ToolsEnv
from tools_env.tasks import task_at

import openenv_gym
from openenv_gym import errors
from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.mcp_sessions import mcp_session
from tests.support.servers import RunningServer, running_server

FIRST = task_at("test", 0)
"""An expression whose value is to be stored."""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server("server.app:app", cwd=bundled_project("tools")) as server:
        yield server


def stored() -> dict[str, Any]:
    (entry,) = FIRST.goal_values.items()
    return {"key": entry[0], "value": entry[1]}


def action(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_name": name, "arguments": json.dumps(arguments)}


def test_gymnasium_plays_it(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url)
    check_env(env, skip_render_check=True)
    observation, info = env.reset(seed=1, options={"split": "test", "index": 0})
    assert json.loads(observation["result"]) == {"data": {"task": FIRST.text}}
    assert (info["task"], info["kind"], info["calls_left"]) == (FIRST.text, "calculate", 30)
    observation, reward, terminated, truncated, info = env.step(action("get_value", key="nothing"))
    assert "There is no key 'nothing'" in json.loads(observation["error"])["message"]
    assert (reward, terminated, truncated, info["calls_left"]) == (0.0, False, False, 29)
    *_, reward, terminated, truncated, info = env.step(action("set_value", **stored()))
    assert (reward, terminated, truncated) == (1.0, True, False)
    env.close()


@pytest.mark.parametrize("wire", ["vector", "standard"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_four_lanes_play_each_with_its_own_store(server: RunningServer, wire: Any, mode: str) -> None:
    envs = RemoteVectorEnv(
        server.base_url, num_envs=4, wire=wire, autoreset_mode=mode, reset_options={"split": "test", "index": 0}
    )
    envs.reset(seed=3)
    keys = [action("set_value", key=f"mine{lane}", value=lane) for lane in range(4)]
    assert not envs.step(_batch(keys))[2].any()
    seen = envs.step(_batch([action("list_keys")] * 4))[0]["result"]
    assert [json.loads(text)["data"] for text in seen] == [[f"mine{lane}"] for lane in range(4)]
    actions = [action("submit"), *[action("set_value", **stored())] * 3]
    _, rewards, terminations, truncations, _ = envs.step(_batch(actions))
    assert rewards.tolist() == [0.0, 1.0, 1.0, 1.0]
    assert (bool(terminations.all()), bool(truncations.any())) == (True, False)
    envs.close()


def _batch(actions: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: tuple(each[name] for each in actions) for name in ("arguments", "tool_name")}


def test_calls_run_out(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url, reset_options={"max_calls": 2})
    env.reset(seed=1)
    env.step(action("list_keys"))
    _, reward, terminated, truncated, info = env.step(action("unknown"))
    assert (reward, terminated, truncated, info["calls_left"]) == (0.0, False, True, 0)
    env.close()


def test_two_seeds_draw_two_tasks_and_one_seed_one(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url)
    drawn = [env.reset(seed=seed)[1]["index"] for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]
    env.close()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"task": "fly"}, "task"),
        ({"split": "other"}, "split"),
        ({"index": -1}, "index"),
        ({"max_calls": 0}, "max_calls"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, Any], told: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=f"{told}= must be"):
        gymnasium.make(openenv_gym.register_local(bundled_project("tools")), **options)


def test_a_task_that_is_not_there_is_told_and_the_session_goes_on(server: RunningServer) -> None:
    async def play() -> None:
        async with ToolsEnv(base_url=server.base_url) as env:
            with pytest.raises(errors.InvalidMessage, match="test has the tasks 0 to 119"):
                await env.reset(split="test", index=500)
            with pytest.raises(errors.InvalidMessage):
                await env.reset(max_calls="many")
            assert (await env.reset(split="test", index=0)).observation.metadata["task"] == FIRST.text
            with pytest.raises(errors.ToolNotFound):
                await env.call_tool("unknown")
            with pytest.raises(errors.InvalidToolArguments):
                await env.call_tool("get_value", kee="x")
            result = await env.call("set_value", stored())
            assert (result.data, result.reward, result.done) == ("stored", 1.0, True)
            with pytest.raises(errors.ToolCallError, match="reset first"):
                await env.call_tool("list_keys")
            step = await env.step(CallToolAction(tool_name="list_keys"))
            assert step.done

    asyncio.run(play())


def test_the_tasks_are_served(server: RunningServer) -> None:
    env = ToolsEnv(base_url=server.base_url).sync()
    assert [(each["name"], each["type"]) for each in env.list_splits()] == [
        ("train", "train"),
        ("validation", "validation"),
        ("test", "test"),
    ]
    assert env.num_tasks("test") == len(env.list_tasks("test")) == 120
    assert env.get_task("test", 0) == {"split": "test", "index": 0, "kind": "calculate", "text": FIRST.text}
    env.close()


def test_an_agent_plays_by_mcp_in_an_environment_of_its_own(server: RunningServer) -> None:
    async def play() -> None:
        async with mcp_session(f"{server.base_url}/mcp") as agent:
            listed = (await agent.list_tools()).tools
            assert [tool.name for tool in listed][:2] == ["read_task", "calculate"]
            assert all(tool.description for tool in listed)
            assert len(_text(await agent.call_tool("read_task", {}))) > 20
            assert _text(await agent.call_tool("calculate", {"expression": "6 * 7"})) == "42"
            failed = await agent.call_tool("calculate", {"expression": "1 / 0"})
            assert failed.is_error
            assert "zero" in _text(failed)
            assert _text(await agent.call_tool("submit", {})) == "submitted"
            assert "reset first" in _text(await agent.call_tool("list_keys", {}))

    asyncio.run(play())


def test_an_agent_earns_the_reward_of_a_trainers_session(server: RunningServer) -> None:
    async def play(address: str) -> None:
        async with mcp_session(address) as agent:
            assert _text(await agent.call_tool("read_task", {})) == FIRST.text
            told = await agent.call_tool("set_value", stored())
            assert "reward" not in told.model_dump_json()

    with ToolsEnv(base_url=server.base_url).sync() as env:
        env.reset(split="test", index=0)
        asyncio.run(play(env.agent_url()))
        state: Any = env.state()
    assert (state.step_count, state.episode_return, state.done) == (2, 1.0, True)


def _text(result: Any) -> str:
    return str(result.content[0].text)


def test_expressions_that_would_run_for_ever_are_answered_at_once(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url, timeouts={"step": 10.0})
    env.reset(seed=1)
    for expression in ("9 ** 9 ** 9 ** 9", "9" * 500, "(" * 400, "1" + "+1" * 249, "(2 ** 1000) ** 1000"):
        observation, *_ = env.step(action("calculate", expression=expression))
        assert observation["error"] != "null"
    env.close()


def test_observations_are_in_their_space(server: RunningServer) -> None:
    env = RemoteEnv(server.base_url)
    env.action_space.seed(0)
    assert env.reset(seed=0)[0] in env.observation_space
    for _ in range(20):
        observation, reward, *_ = env.step(env.action_space.sample())
        assert observation in env.observation_space
        assert np.isfinite(float(reward))
    env.close()
