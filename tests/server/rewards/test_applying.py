"""Rubrics in environments that are served by a real server, with a judge behind a real endpoint."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.models import Observation
from openenv_gym_server.rewards import Gate, Rubric
from openenv_gym_server.rewards.applying import apply_rubric, reset_rubric, reset_rubric_async

import openenv_gym  # noqa: F401  (registers the ids)
from openenv_gym.client import GenericEnvClient
from tests.support.http import http_client
from tests.support.judge_endpoint import PATIENCE, Asked, JudgeEndpoint, judge_endpoint
from tests.support.servers import RunningServer, running_server
from tests.support.wire import record_frames

POLITE = {
    "steps": 1,
    "reward_components.quality": 0.8,
    "reward_components.quality.rubric_0": 1.0,
    "reward_components.quality.rubric_0.rubric": 1.0,
    "reward_components.quality.rubric_1": 0.8,
    "reward_components.total": 0.9,
    "reward_components.total.rubric_0": 0.8,
    "reward_components.total.rubric_0.rubric_0": 1.0,
    "reward_components.total.rubric_0.rubric_0.rubric": 1.0,
    "reward_components.total.rubric_0.rubric_1": 0.8,
    "reward_components.total.rubric_1": 1.0,
}


def answer(asked: Asked) -> None:
    if asked.prompt == "down":
        asked.send(503, "busy")
    else:
        asked.say("who knows" if asked.prompt == "vague" else "Score: 8/10" if "please" in asked.prompt else "0.1")


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeEndpoint]:
    with judge_endpoint(answer) as endpoint:
        yield endpoint


@contextmanager
def served(app: str, judge: JudgeEndpoint) -> Iterator[RunningServer]:
    with running_server(f"tests.support.apps.judged:{app}", env={"TEST_JUDGE": judge.url}) as server:
        yield server


@pytest.mark.parametrize("app", ["plain", "awaiting"])
def test_a_judge_rewards_a_step_and_the_trainer_sees_what_the_reward_is_made_of(app: str, judge: JudgeEndpoint) -> None:
    with served(app, judge) as server, GenericEnvClient(server.base_url).sync() as client:
        client.reset()
        result = client.step({"text": "please"})
        assert result.reward == pytest.approx(0.9)
        assert result.metadata == POLITE
        assert client.step({"text": "now"}).reward == pytest.approx(0.55)
        client.reset()
        asked = len(judge.asked)
        result = client.step({"text": "a text that is not short"})
        assert (result.reward, len(judge.asked)) == (0.0, asked)
        # What this step did not ask is not told; least of all with the score of another step.
        reached = {key for key in POLITE if not key.endswith(("quality.rubric_1", "rubric_0.rubric_1"))}
        assert result.metadata is not None
        assert result.metadata.keys() == reached


@pytest.mark.parametrize("app", ["plain", "awaiting"])
def test_a_judge_that_fails_fails_the_step_and_not_the_session(app: str, judge: JudgeEndpoint) -> None:
    with served(app, judge) as server, GenericEnvClient(server.base_url).sync() as client:
        client.reset()
        for text, told in (("vague", "has no score: 'who knows'"), ("down", "HTTP 503: busy")):
            with pytest.raises(errors.ExecutionError, match=told):
                client.step({"text": text})
        client.reset()
        assert client.step({"text": "please"}).reward == pytest.approx(0.9)


@pytest.mark.parametrize("app", ["plain", "awaiting"])
def test_sessions_ask_their_judges_at_the_same_time(app: str) -> None:
    meeting = threading.Barrier(4)

    def meet(asked: Asked) -> None:
        meeting.wait(PATIENCE)
        asked.say("0.5")

    def play(url: str) -> Any:
        with GenericEnvClient(url).sync() as client:
            client.reset()
            return client.step({"text": "?"}).reward

    with judge_endpoint(meet) as endpoint, served(app, endpoint) as server, ThreadPoolExecutor(4) as pool:
        assert list(pool.map(play, [server.base_url] * 4)) == [0.75] * 4


def test_an_async_environment_that_does_not_await_its_judge_is_told_how_to(judge: JudgeEndpoint) -> None:
    with served("blocking", judge) as server, GenericEnvClient(server.base_url).sync() as client:
        client.reset()
        with pytest.raises(errors.ExecutionError, match=r"await self\._apply_rubric_async"):
            client.step({"text": "please"})


@pytest.mark.parametrize("wire", ["vector", "standard"])
def test_components_are_in_the_info_of_gymnasium(wire: str, judge: JudgeEndpoint) -> None:
    with served("plain", judge) as server:
        env = gymnasium.make("openenv/Remote-v0", base_url=server.base_url, wire=wire, disable_env_checker=True)
        env.reset()
        *_, info = env.step("please")
        assert {key: info[key] for key in POLITE} == POLITE
        env.close()


@pytest.mark.parametrize("wire", ["vector", "standard"])
def test_the_last_step_says_what_each_was_worth(wire: str, judge: JudgeEndpoint) -> None:
    with served("outcomes", judge) as server:
        env = gymnasium.make("openenv/Remote-v0", base_url=server.base_url, wire=wire, disable_env_checker=True)
        for _ in range(2):  # a second episode begins anew
            env.reset()
            steps = [env.step("x") for _ in range(3)]
            assert [step[1] for step in steps] == [0.0, 0.0, 3.0]
            assert "step_rewards" not in steps[1][4]
            np.testing.assert_array_equal(steps[2][4]["step_rewards"], [0.75, 1.5, 3.0])
            assert steps[2][3]
        env.close()


@pytest.mark.parametrize("wire", ["vector", "standard"])
def test_lanes_have_components_and_step_rewards_of_their_own(wire: str, judge: JudgeEndpoint) -> None:
    with served("outcomes", judge) as server:
        envs = gymnasium.make_vec("openenv/Remote-v0", num_envs=2, base_url=server.base_url, wire=wire)
        envs.reset()
        infos = [envs.step(("x", "x"))[4] for _ in range(3)]
        assert "step_rewards" not in infos[1]
        assert [list(rewards) for rewards in infos[2]["step_rewards"]] == [[0.75, 1.5, 3.0]] * 2
        envs.close()
    with served("plain", judge) as server:
        envs = gymnasium.make_vec("openenv/Remote-v0", num_envs=2, base_url=server.base_url, wire=wire)
        envs.reset()
        _, rewards, _, _, info = envs.step(("please", "a text that is not short"))
        np.testing.assert_allclose(rewards, [0.9, 0.0])
        np.testing.assert_allclose(info["reward_components.total"], [0.9, 0.0])
        np.testing.assert_array_equal(info["_reward_components.quality.rubric_1"], [True, False])
        envs.close()


def test_no_result_of_a_tool_has_the_reward_or_its_components(judge: JudgeEndpoint) -> None:
    call = {"name": "add", "arguments": {"a": 1, "b": 2}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    action = {"type": "call_tool", "tool_name": "add", "arguments": call["arguments"]}
    with served("tools", judge) as server:
        with http_client(server) as client:
            told = [client.post("/mcp", json=request).text]
        frames = [{"type": "mcp", "data": request}, {"type": "step", "data": action}]
        messages, stepped = record_frames(server.base_url, frames)
    told += [json.dumps(messages), json.dumps(stepped["data"]["observation"]["result"])]
    for text in told:
        assert "3" in text
        assert "reward" not in text
        assert "0.625" not in text
    assert stepped["data"]["reward"] == 0.625
    assert stepped["data"]["metadata"] == {"reward_components.rubric": 0.625}


def test_any_callable_is_a_rubric_and_says_nothing_of_its_parts() -> None:
    observation = Observation(metadata={"kept": 1})
    assert apply_rubric(lambda action, _: action + 1, 1, observation) == 2
    assert observation.metadata == {"kept": 1}


def test_without_a_rubric_there_is_nothing_to_ask_or_reset() -> None:
    assert apply_rubric(None, 0, 0) == 0.0
    reset_rubric(None)


def test_what_a_rubric_awaits_in_its_reset_is_awaited() -> None:
    resets: list[str] = []

    class Resetting:
        async def reset(self) -> None:
            await asyncio.sleep(0)
            resets.append("reset")

    class Both(Resetting):
        async def reset_async(self) -> None:
            await asyncio.sleep(0)
            resets.append("reset_async")

    reset_rubric(Resetting())
    asyncio.run(reset_rubric_async(Resetting()))
    asyncio.run(reset_rubric_async(Both()))
    asyncio.run(reset_rubric_async(None))
    assert resets == ["reset", "reset", "reset_async"]


def test_an_observation_without_metadata_is_left_as_it_is() -> None:
    assert apply_rubric(Gate(Truth()), 0, "no model") == 1.0


class Truth(Rubric):
    def forward(self, action: Any, observation: Any) -> float:
        return 1.0
