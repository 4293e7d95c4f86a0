"""Lanes that fail or wait together: what an environment steps at once, and what is taken without waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from openenv_gym_protocol import errors

from openenv_gym.bridge.failing import MOST_IN_A_ROW
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.apps.bridge_vectors import EPISODE, FINE, NAN
from tests.support.servers import RunningServer, running_server

Make = Callable[..., RemoteVectorEnv]


@pytest.fixture(scope="module")
def together() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.bridge_vectors:app") as server:
        yield server


@pytest.fixture
def make() -> Iterator[Make]:
    with ExitStack() as stack:

        def make(*args: Any, **kwargs: Any) -> RemoteVectorEnv:
            env = RemoteVectorEnv(*args, **kwargs)
            stack.callback(env.close)
            return env

        yield make


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_of_lanes_that_are_stepped_together_all_fail_with_one_and_go_on(
    mode: str, together: RunningServer, make: Make
) -> None:
    env = make(together.base_url, num_envs=3, autoreset_mode=mode, on_failure="truncate")
    env.reset(seed=1)
    _, rewards, terminations, truncations, infos = env.step([FINE, NAN, FINE])
    assert (rewards.tolist(), truncations.tolist()) == ([0.0] * 3, [True] * 3)
    assert not terminations.any()
    told = infos if mode == "NextStep" else infos["final_info"]
    assert told["failure"].tolist() == ["environment"] * 3
    assert ["[lane 1, " in message for message in told["failure_message"]] == [True] * 3, "the lane that failed"
    if mode == "NextStep":
        _, rewards, _, truncations, infos = env.step([FINE] * 3)
        assert (rewards.tolist(), truncations.tolist()) == ([0.0] * 3, [False] * 3)
        assert "failure" not in infos
    for _ in range(EPISODE - 1):
        assert env.step([FINE] * 3)[1].tolist() == [1.0] * 3
    assert env.step([FINE] * 3)[2].all(), "the episodes that began together end together"


def test_lanes_that_are_stepped_together_and_fail_again_and_again_are_raised_at_last(
    together: RunningServer, make: Make
) -> None:
    env = make(together.base_url, num_envs=2, on_failure="truncate", autoreset_mode="SameStep")
    env.reset(seed=1)
    for _ in range(2 * MOST_IN_A_ROW):
        assert env.step([FINE, NAN])[3].all(), "each was reset between"


def test_a_failure_that_is_raised_costs_the_lanes_beside_it_nothing(together: RunningServer, make: Make) -> None:
    env = make(together.base_url, num_envs=2)
    env.reset(seed=1)
    env.send([FINE, NAN])
    with pytest.raises(errors.ExecutionError) as raised:
        env.recv(min_lanes=2)
    assert raised.value.lane == 1
    assert env.recv()[0].tolist() == [0]
    env.send([FINE, FINE])
    assert env.recv(min_lanes=2)[2].tolist() == [1.0, 1.0]


def test_what_is_there_is_taken_without_waiting(faults: RunningServer, make: Make, wire: Wire) -> None:
    env = make(faults.base_url, num_envs=2, wire=wire)
    env.reset()
    command = {"command": np.array([[COMMANDS.index("fine")]] * 2), "value": np.zeros((2, 1), np.int64)}
    env.send(command)
    assert env._lanes.wait(2, timeout=30), "the replies came, and nobody has read them"
    lanes, observation, *_ = env.recv(min_lanes=0)
    assert (lanes.tolist(), observation.tolist()) == ([0, 1], [[1.0], [1.0]])


def test_nothing_may_be_there_yet(faults: RunningServer, make: Make, wire: Wire) -> None:
    env = make(faults.base_url, num_envs=2, wire=wire)
    env.reset()
    env.send({"command": np.array([[COMMANDS.index("hang")]]), "value": np.zeros((1, 1), np.int64)}, [1])
    lanes, observation, rewards, *_, infos = env.recv(min_lanes=0)
    assert (lanes.size, len(observation), len(rewards), infos) == (0, 0, 0, {})


def test_lanes_that_are_sent_to_in_any_order_take_their_own_actions(
    walk: RunningServer, make: Make, wire: Wire
) -> None:
    env, other = (make(walk.base_url, num_envs=3, wire=wire) for _ in range(2))
    env.reset(seed=4)
    other.reset(seed=4)
    for _ in range(12):
        env.send(np.array([1, 0]), [2, 0])
        env.send([1], [1])
        lanes, *received = env.recv(min_lanes=3)
        assert lanes.tolist() == [0, 1, 2]
        assert data_equivalence(tuple(received), other.step(np.array([0, 1, 1])), exact=True)
