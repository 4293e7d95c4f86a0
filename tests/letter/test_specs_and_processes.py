"""Specs through JSON and pickle, and environments in other processes."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from openenv_gym_protocol import errors

from openenv_gym.bridge.env import RemoteEnv
from tests.letter.comparing import identical
from tests.letter.requirements import requirement
from tests.support.servers import RunningServer


@requirement("spec")
@pytest.mark.parametrize("id", ["openenv/Blackjack-v0", "openenv/CartPole-v1", "openenv/GridWorld-v0"])
def test_a_spec_makes_the_same_environment_again(id: str, wire: dict[str, Any]) -> None:
    env = gymnasium.make(id, **wire)
    assert env.spec is not None
    copies = [EnvSpec.from_json(env.spec.to_json()), pickle.loads(pickle.dumps(env.spec))]
    assert copies == [env.spec] * 2
    first = env.reset(seed=3)
    for copy in copies:
        again = gymnasium.make(copy)
        assert again.spec == env.spec
        assert type(again.unwrapped) is type(env.unwrapped)
        assert identical(again.reset(seed=3), first)
        again.close()
    env.close()


@requirement("spec")
def test_the_spec_of_a_vector_makes_it_again(wire: dict[str, Any]) -> None:
    envs = gymnasium.make_vec("openenv/CartPole-v1", 3, autoreset_mode="SameStep", max_episode_steps=7, **wire)
    assert envs.spec is not None
    again = gymnasium.make_vec(EnvSpec.from_json(envs.spec.to_json()))
    assert again.num_envs == 3
    assert again.metadata["autoreset_mode"] is envs.metadata["autoreset_mode"]
    assert identical(again.reset(seed=1), envs.reset(seed=1))
    for number in range(9):
        actions = np.full(3, number % 2)
        assert identical(again.step(actions), envs.step(actions))
    envs.close()
    again.close()


@requirement("spec")
def test_an_environment_pickles_until_it_connects(walk: RunningServer, wire: dict[str, Any]) -> None:
    env = RemoteEnv(walk.base_url, **wire)
    again = pickle.loads(pickle.dumps(env))
    assert identical(again.reset(seed=1), env.reset(seed=1))
    for connected in (env, again):
        with pytest.raises(errors.NotPicklable):
            pickle.dumps(connected)
        connected.close()


class Thunk:
    """Makes an environment; picklable, for processes that are spawned."""

    def __init__(self, base_url: str, keywords: dict[str, Any]) -> None:
        self.base_url = base_url
        self.keywords = keywords

    def __call__(self) -> RemoteEnv:
        return RemoteEnv(self.base_url, **self.keywords)


@requirement("vector/processes", "C2")
@pytest.mark.parametrize("shared_memory", [True, False])
@pytest.mark.parametrize("context", ["fork", "forkserver", "spawn"])
def test_processes_of_any_start_method_see_what_one_process_sees(
    context: str, shared_memory: bool, drawn: RunningServer, wire: dict[str, Any]
) -> None:
    thunk = Thunk(f"{drawn.base_url}/dict", wire)
    before = thunk()
    before.reset(seed=1)  # so that the loop's thread runs when the processes start
    with warnings.catch_warnings():
        # Python 3.12 warns of forks in programs with threads; that this one is safe is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        several = AsyncVectorEnv([thunk] * 2, context=context, shared_memory=shared_memory)
    alone = SyncVectorEnv([thunk] * 2)
    try:
        assert identical(several.reset(seed=3), alone.reset(seed=3))
        alone.action_space.seed(1)
        for _ in range(8):
            actions = alone.action_space.sample()
            assert identical(several.step(actions), alone.step(actions))
    finally:
        several.close()
        alone.close()
    assert before.step(before.action_space.sample())[0] in before.observation_space
    before.close()


@requirement("vector/processes")
def test_make_vec_in_processes_shares_one_server_and_sees_the_same(wire: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        several = gymnasium.make_vec("openenv/CartPole-v1", 2, vectorization_mode="async", **wire)
    one = gymnasium.make_vec("openenv/CartPole-v1", 2, **wire)
    try:
        assert identical(several.reset(seed=3)[0], one.reset(seed=3)[0])
        for number in range(10):
            actions = np.array([number % 2, 1])
            assert identical(several.step(actions)[:4], one.step(actions)[:4])
    finally:
        several.close()
        one.close()
