"""Steps that are like the one before give what all others give, whatever comes in between."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.vector.repeating import Repeated

from openenv_gym import RemoteEnv, RemoteVectorEnv
from tests.support.gymnasium_values import same
from tests.support.moments import happening_after
from tests.support.repetitions import noted_repetitions
from tests.support.servers import RunningServer, running_server

WALKS = "tests.support.apps.repeated:app"
LANES = 4


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(WALKS, env={"TEST_PATIENCE": "0.05"}) as server:
        yield server


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[Repeated]:
    return noted_repetitions(monkeypatch)


def after_six_steps(server: RunningServer, **keywords: Any) -> RemoteVectorEnv:
    """An environment that knows the form of its steps."""
    env = RemoteVectorEnv(server.base_url, num_envs=LANES, **keywords)
    env.reset(seed=1)
    for _ in range(6):
        env.step(np.ones(LANES, np.int64))
    return env


def in_the_usual_way(env: RemoteVectorEnv, actions: Any) -> Any:
    env.step_async(actions)
    return env.step_wait()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_they_give_what_the_usual_way_gives(server: RunningServer, answered: list[Repeated], mode: str) -> None:
    env = RemoteVectorEnv(server.base_url, num_envs=LANES, autoreset_mode=mode, max_episode_steps=23)
    other = RemoteVectorEnv(server.base_url, num_envs=LANES, autoreset_mode=mode, max_episode_steps=23)
    assert same(env.reset(seed=3), other.reset(seed=3))
    draw = np.random.default_rng(1)
    for _ in range(120):
        actions = draw.integers(0, 50, LANES)
        assert same(env.step(actions), in_the_usual_way(other, actions))
    assert 40 < len(answered) < 120
    env.close()
    other.close()


def test_a_single_environment_takes_them_too(server: RunningServer, answered: list[Repeated]) -> None:
    env = RemoteEnv(server.base_url)
    env.reset(seed=5)
    for count in range(1, 20):
        observation, reward, terminated, truncated, info = env.step(count % 7)
        assert observation.tolist() == [count, count % 7]
        assert (reward, terminated, truncated) == (float(count), False, False)
        assert info == {"seed_applied": 1, "reward_missing": False}
        assert type(reward) is float
    assert len(answered) >= 15
    env.close()


def test_actions_outside_the_space_reach_nobody(server: RunningServer, answered: list[Repeated]) -> None:
    env = after_six_steps(server)
    with pytest.raises(errors.InvalidAction, match="lane 2"):
        env.step(np.array([1, 1, 99, 1]))
    assert env.step(np.ones(LANES, np.int64))[0][:, 0].tolist() == [7.0] * LANES
    assert answered
    env.close()


def test_a_slow_one_goes_the_usual_way_and_is_late_in_it(server: RunningServer, answered: list[Repeated]) -> None:
    env = after_six_steps(server, timeouts={"step": 3.0})
    count = len(answered)
    assert env.step(np.full(LANES, 60))[0][:, 0].tolist() == [7.0] * LANES  # a tenth of a second
    assert len(answered) == count
    for _ in range(3):
        env.step(np.ones(LANES, np.int64))
    with pytest.raises(errors.ReplyTimeout):
        env.step(np.full(LANES, 61))  # six seconds
    env.reset(seed=1)
    assert env.step(np.ones(LANES, np.int64))[0][:, 0].tolist() == [1.0] * LANES
    env.close()


def test_a_lane_that_fails_in_one_is_told(server: RunningServer) -> None:
    env = after_six_steps(server)
    with pytest.raises(errors.ExecutionError, match="lane 3"):
        env.step(np.array([1, 1, 1, 62]))
    env.close()


def test_a_reward_that_is_missing_in_one_is_told(server: RunningServer) -> None:
    env = after_six_steps(server)
    _, rewards, *_, infos = env.step(np.array([1, 63, 1, 1]))
    assert infos["reward_missing"].tolist() == [False, True, False, False]
    assert rewards.tolist() == [7.0, 0.0, 7.0, 7.0]
    env.close()


def test_what_they_return_is_the_callers_own(server: RunningServer, answered: list[Repeated]) -> None:
    env = RemoteVectorEnv(server.base_url, num_envs=LANES)
    env.reset(seed=1)
    steps = [env.step(np.ones(LANES, np.int64)) for _ in range(8)]
    assert answered
    for count, (observations, rewards, *_, infos) in enumerate(steps, 1):
        assert observations[:, 0].tolist() == [count] * LANES
        for array in (observations, rewards, infos["seed_applied"], infos["_reward_missing"]):
            array[:] = 0


def test_a_killed_server_is_a_connection_lost() -> None:
    with running_server(WALKS) as dying:
        env = after_six_steps(dying)
        os.kill(dying.pid, signal.SIGKILL)
        with pytest.raises(errors.ConnectionLost):
            env.step(np.ones(LANES, np.int64))
        env.close()


def test_an_interrupt_in_the_midst_of_one_loses_the_sessions(server: RunningServer) -> None:
    env = after_six_steps(server)
    with pytest.raises(KeyboardInterrupt), happening_after(1.0, lambda: signal.raise_signal(signal.SIGINT)):
        env.step(np.full(LANES, 61))
    with pytest.raises(errors.SessionLost):
        env.step(np.ones(LANES, np.int64))
    env.reset(seed=1)
    assert env.step(np.ones(LANES, np.int64))[0][:, 0].tolist() == [1.0] * LANES
    env.close()
