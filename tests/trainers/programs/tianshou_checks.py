"""Tianshou on remote environments: by the adapter of a vector, and by the ids alone."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from openenv_gym_protocol.errors import ConfigurationError, EpisodeOver, InvalidAction
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, SubprocVectorEnv, VectorEnvNormObs
from tianshou.utils.net.common import Net

import openenv_gym
from openenv_gym.trainers.tianshou import TianshouVectorEnv
from tests.trainers.programs.running import raises, run

CARTPOLE = "openenv/CartPole-v1"
GRID = "openenv/GridWorld-v0"


def adapted(
    env_id: str = CARTPOLE,
    num_envs: int = 4,
    wait_num: int | None = None,
    timeout: float | None = None,
    **keywords: Any,
) -> TianshouVectorEnv:
    """Remote lanes by the adapter."""
    envs = gymnasium.make_vec(env_id, num_envs=num_envs, autoreset_mode="Disabled", **keywords)
    return TianshouVectorEnv(envs, wait_num, timeout)


def local(num_envs: int = 4, **keywords: Any) -> DummyVectorEnv:
    """Tianshou's own, of local environments."""
    return DummyVectorEnv([lambda: gymnasium.make("CartPole-v1", **keywords)] * num_envs)


def a_policy(env: TianshouVectorEnv) -> DiscreteActorPolicy:
    """One that has learned nothing."""
    shape, actions = env.env.single_observation_space.shape, env.env.single_action_space
    return DiscreteActorPolicy(actor=Net(state_shape=shape, action_shape=actions.n), action_space=actions)


def check_steps_and_resets_of_some_lanes_are_those_of_local_environments() -> None:
    for wire in ("vector", "standard"):
        ours, theirs = adapted(max_episode_steps=15, wire=wire), local(max_episode_steps=15)
        assert ours.seed(7) == theirs.seed(7) == [[7], [8], [9], [10]]
        for got, expected in zip(ours.reset(), theirs.reset(), strict=True):
            assert got.shape == expected.shape
        rng = np.random.default_rng(2)
        ends = {"terminated": 0, "truncated": 0}
        for _ in range(120):
            lanes = rng.permutation(4)[: rng.integers(1, 5)]
            actions = rng.integers(0, 2, len(lanes))
            seen, wanted = ours.step(actions, lanes), theirs.step(actions, lanes)
            for got, expected in zip(seen[:4], wanted[:4], strict=True):
                np.testing.assert_array_equal(got, expected)
                assert got.dtype == expected.dtype
            assert [info["env_id"] for info in seen[4]] == lanes.tolist()
            ends["terminated"] += seen[2].sum()
            ends["truncated"] += seen[3].sum()
            over = lanes[seen[2] | seen[3]]
            if len(over):
                np.testing.assert_array_equal(ours.reset(over)[0], theirs.reset(over)[0])
        assert min(ends.values()) > 3, ends
        ours.close()
        assert ours.is_closed


def check_a_collector_collects_what_it_does_from_local_environments() -> None:
    ours, theirs = adapted(), local()
    found = []
    for env in (ours, theirs):
        torch.manual_seed(1)
        env.seed(3)
        collector = Collector(a_policy(ours), env, VectorReplayBuffer(400, 4))
        collector.reset()
        collector.collect(n_step=200)
        stats = collector.collect(n_episode=6)
        buffer = collector.buffer
        found.append((buffer.obs, buffer.act, buffer.rew, buffer.terminated, buffer.obs_next, stats.returns))
    for got, expected in zip(*found, strict=True):
        np.testing.assert_array_equal(got, expected)
    ours.close()


def check_random_actions_are_drawn_and_seeded_by_lane() -> None:
    ours, theirs = adapted(), local()
    drawn = []
    for env in (ours, theirs):
        env.seed(9)
        drawn.append([[space.sample() for space in env.action_space] for _ in range(20)])
    assert drawn[0] == drawn[1]
    collector = Collector(a_policy(ours), ours, VectorReplayBuffer(100, 4))
    collector.reset()
    assert collector.collect(n_step=40, random=True).n_collected_steps == 40
    ours.close()


def check_stragglers_are_not_waited_for() -> None:
    envs = adapted(num_envs=4, wait_num=2)
    assert envs.is_async
    envs.reset()
    seen: list[int] = []
    lanes, steps = [0, 1, 2, 3], 0
    while steps < 60:
        _, _, terminated, truncated, infos = envs.step(np.zeros(len(lanes), int), lanes)
        lanes = [info["env_id"] for info in infos]
        assert len(lanes) >= 2
        assert sorted([*envs.ready_id, *envs.waiting_id]) == [0, 1, 2, 3]
        seen += lanes
        steps += len(lanes)
        over = [lane for lane, ends in zip(lanes, terminated | truncated, strict=True) if ends]
        if over:
            envs.reset(over)
    assert set(seen) == {0, 1, 2, 3}
    if envs.waiting_id:
        with raises(ConfigurationError, "are stepping"):
            envs.reset()
        envs.step(None, envs.waiting_id)
    assert envs.waiting_id == []
    envs.reset()
    envs.close()
    envs = adapted(wait_num=4, timeout=20)
    assert envs.is_async
    envs.reset()
    assert [info["env_id"] for info in envs.step(np.zeros(4, int))[4]] == [0, 1, 2, 3]
    envs.close()


def check_dict_and_text_observations() -> None:
    envs = adapted(GRID)
    observations, infos = envs.reset(seed=4)
    assert observations.shape == (4,)
    assert all(set(each) == {"agent", "target"} for each in observations)
    # Tianshou's own give every environment the same seed too.
    np.testing.assert_equal(observations.tolist(), [observations[0]] * 4)
    assert all(info["distance"] > 0 for info in infos)
    observations = envs.step(np.zeros(2, int), [2, 1])[0]
    assert observations.shape == (2,)
    assert observations[0]["agent"].shape == (2,)
    buffer = VectorReplayBuffer(40, 4)
    collector = Collector(unasked_policy(envs), envs, buffer)
    collector.reset()
    collector.collect(n_step=40, random=True)
    assert buffer.obs.agent.shape == (40, 2)
    envs.close()


def unasked_policy(envs: TianshouVectorEnv) -> DiscreteActorPolicy:
    """A policy that is never asked."""
    return DiscreteActorPolicy(actor=Net(state_shape=2, action_shape=4), action_space=envs.env.single_action_space)


def check_reset_options_and_attributes() -> None:
    envs = adapted(GRID)
    envs.reset(options={"slip": 0.5})
    envs.reset([1, 2], options={"slip": 0.25})
    assert envs.get_env_attr("slip") == [0.5, 0.25, 0.25, 0.5]
    envs.set_env_attr("slip", 0.0, 3)
    assert envs.get_env_attr("slip", [3, 1]) == [0.0, 0.25]
    assert len(envs.spec) == len(envs.metadata) == len(envs.observation_space) == len(envs) == 4
    envs.close()


def check_wrappers_of_tianshou() -> None:
    envs = VectorEnvNormObs(adapted())
    envs.reset()
    for _ in range(5):
        observations = envs.step(np.zeros(4, int))[0]
    assert observations.shape == (4, 4)
    assert envs.get_obs_rms().count > 20
    assert len(envs.action_space) == 4
    envs.close()


def check_what_cannot_work_is_refused() -> None:
    vector = gymnasium.make_vec(CARTPOLE, num_envs=2, autoreset_mode="Disabled")
    with raises(ConfigurationError, "autoreset_mode='Disabled'"):
        TianshouVectorEnv(gymnasium.make_vec(CARTPOLE, num_envs=2))
    with raises(ConfigurationError, "takes a RemoteVectorEnv itself"):
        TianshouVectorEnv(RecordEpisodeStatistics(vector))
    with raises(ConfigurationError, "spaces='flat'"):
        adapted("openenv/Blackjack-v0")
    for wrong in (0, 3, 1.5):
        with raises(ConfigurationError, "wait_num="):
            TianshouVectorEnv(vector, wait_num=wrong)
    with raises(ConfigurationError, "timeout="):
        TianshouVectorEnv(vector, timeout=0)
    envs = TianshouVectorEnv(vector)
    envs.reset()
    for actions, lanes in (([0], [0, 1]), (None, None), ([0], [2]), ([0], [-1])):
        with raises(ConfigurationError):
            envs.step(actions, lanes)
    with raises(InvalidAction):
        envs.step([0, 7])
    while not (ends := envs.step(torch.zeros(2, dtype=torch.int64))[2]).any():
        pass
    over = np.flatnonzero(ends)
    with raises(EpisodeOver):
        envs.step([0], over[:1])
    envs.reset(over)
    envs.step([0, 0])
    envs.close()


def check_ids_work_as_those_of_any_other_environment() -> None:
    def make() -> Any:
        return gymnasium.make("openenv_gym:openenv/CartPole-v1")

    for kind in (DummyVectorEnv, SubprocVectorEnv):
        ours, theirs = kind([make] * 2), local(2)
        ours.seed(5)
        theirs.seed(5)
        for _ in range(5):
            np.testing.assert_array_equal(ours.step(np.array([0, 1]))[0], theirs.step(np.array([0, 1]))[0])
        ours.close()


def unclosed() -> str:
    """Collects a little, and leaves."""
    envs = adapted()
    collector = Collector(a_policy(envs), envs, VectorReplayBuffer(100, 4))
    collector.reset()
    collector.collect(n_step=40)
    server = envs.env.servers[0]
    assert server is not None
    return server


assert openenv_gym  # registers the ids

if __name__ == "__main__":
    run(globals())
