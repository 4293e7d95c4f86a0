"""``RemoteEnv`` and ``RemoteVectorEnv`` against openenv's own server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils.env_checker import check_env

from openenv_gym import RemoteEnv, RemoteVectorEnv, errors
from tests.support.comparing import Compared
from tests.support.wire import record_frames

pytestmark = pytest.mark.interop

ACTIONS = [3, 0, 2, 1, 3, 3]


@pytest.fixture
def env(stock_servers: dict[str, str]) -> Iterator[RemoteEnv]:
    """Openenv's counter as a Gymnasium environment."""
    made = RemoteEnv(stock_servers["counter_app"])
    yield made
    made.close()


def test_spaces_are_derived_from_openenvs_schema(env: RemoteEnv) -> None:
    assert env.action_space == Discrete(4)
    assert env.observation_space == Dict({"count": Discrete(100), "part": Box(0.0, 10.0, (1,), np.float32)})


def test_an_episode_has_the_values_of_the_raw_frames(
    env: RemoteEnv, stock_servers: dict[str, str], compared: Compared
) -> None:
    frames = [{"type": "reset", "data": {"seed": 2}}, *({"type": "step", "data": {"amount": a}} for a in ACTIONS)]
    raw = [answer["data"] for answer in record_frames(stock_servers["counter_app"], frames)]
    observation, _ = env.reset(seed=2)
    seen: list[Any] = [(observation, None, raw[0]["done"])]
    for action in ACTIONS:
        observation, reward, terminated, truncated, _ = env.step(action)
        assert not truncated
        seen.append((observation, reward, terminated))
        if terminated:
            break
    for (observation, reward, terminated), data in zip(seen, raw, strict=False):
        assert env.observation_space.contains(observation)
        assert observation["count"] == data["observation"]["count"]
        np.testing.assert_allclose(observation["part"], data["observation"]["part"], rtol=1e-6)
        assert terminated == data["done"]
        assert reward in (None, data["reward"])
    assert len(seen) >= 5
    compared.add(len(seen))


def test_reset_options_reach_the_environment(env: RemoteEnv, compared: Compared) -> None:
    observation, _ = env.reset(seed=0, options={"start": 5})
    assert observation["count"] == 5
    compared.add(1)


def test_gymnasiums_checker_finds_nothing(env: RemoteEnv, compared: Compared) -> None:
    check_env(env, skip_render_check=True)
    compared.add(1)


@pytest.mark.parametrize("num_envs", [1, 8])
def test_lanes_step_as_single_environments_do(num_envs: int, stock_servers: dict[str, str], compared: Compared) -> None:
    url = stock_servers["counter_app"]
    lanes = RemoteVectorEnv(url, num_envs=num_envs)
    singles = gymnasium.vector.SyncVectorEnv([lambda: RemoteEnv(url)] * num_envs)
    try:
        assert lanes.observation_space == singles.observation_space
        assert lanes.action_space == singles.action_space
        one, other = lanes.reset(seed=7)[0], singles.reset(seed=7)[0]
        np.testing.assert_equal(one, other)
        lanes.action_space.seed(3)
        for _ in range(25):
            actions = lanes.action_space.sample()
            for left, right in zip(lanes.step(actions)[:4], singles.step(actions)[:4], strict=True):
                np.testing.assert_equal(left, right)
            compared.add(num_envs)
    finally:
        lanes.close()
        singles.close()


def test_each_lane_has_a_session_of_its_own(stock_servers: dict[str, str], compared: Compared) -> None:
    lanes = RemoteVectorEnv(stock_servers["counter_app"], num_envs=16)
    try:
        observations, _ = lanes.reset(seed=0)
        expected = np.arange(16) % 4
        np.testing.assert_array_equal(observations["count"], expected)
        for step in range(2):
            amounts = (np.arange(16) + step) % 4
            observations, rewards, *_ = lanes.step(amounts)
            expected = expected + amounts
            np.testing.assert_array_equal(observations["count"], expected)
            np.testing.assert_array_equal(rewards, amounts / 2)
            compared.add(16)
    finally:
        lanes.close()


def test_text_and_free_json_of_openenvs_environments_have_spaces(
    stock_servers: dict[str, str], compared: Compared
) -> None:
    for app in ("probe_app", "scored_app"):
        env = RemoteEnv(stock_servers[app])
        try:
            observation, _ = env.reset(seed=1)
            assert env.observation_space.contains(observation)
            compared.add(1)
        finally:
            env.close()


def test_text_and_free_json_go_to_openenvs_server_and_back(stock_servers: dict[str, str], compared: Compared) -> None:
    env = RemoteEnv(stock_servers["probe_app"])
    try:
        env.reset(seed=1)
        env.action_space.seed(5)
        for _ in range(20):
            action = {**env.action_space.sample(), "cmd": "é\U0001f600"}
            observation, *_ = env.step(action)
            assert observation["data"] == action["payload"]
            np.testing.assert_array_equal(observation["n"], action["n"])
            assert observation["text"].startswith(action["cmd"])
            compared.add(1)
    finally:
        env.close()


def test_openenvs_null_for_a_reward_is_told_as_missing(stock_servers: dict[str, str], compared: Compared) -> None:
    env = RemoteEnv(stock_servers["probe_app"])
    try:
        env.reset()
        _, reward, _, _, info = env.step({"cmd": "reward nan", "n": np.array([0]), "payload": "null"})
        assert (reward, info["reward_missing"]) == (0.0, True)
        _, reward, _, _, info = env.step({"cmd": "reward int", "n": np.array([0]), "payload": "null"})
        assert (reward, info["reward_missing"]) == (3.0, False)
    finally:
        env.close()
    compared.add(2)


def test_a_failing_step_of_openenvs_server_leaves_the_other_lanes_alone(
    stock_servers: dict[str, str], compared: Compared
) -> None:
    lanes = RemoteVectorEnv(stock_servers["counter_app"], num_envs=4)
    try:
        lanes.reset(seed=0)
        with pytest.raises(errors.ValidationFailure):
            lanes.step(np.array([0, 1, 7, 1]))
        observations, _ = lanes.reset(seed=0)
        np.testing.assert_array_equal(observations["count"], np.arange(4))
    finally:
        lanes.close()
    compared.add(2)
