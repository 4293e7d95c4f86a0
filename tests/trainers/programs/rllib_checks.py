"""RLlib's new API stack on remote environments, by the ids; gymnasium is 1.2.2 beside it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import ray
from gymnasium.vector import AutoresetMode
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.env_to_module import FlattenObservations
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

import openenv_gym
from tests.trainers.programs.running import run

CARTPOLE = "openenv_gym:openenv/CartPole-v1"
VECTOR = "vector_entry_point"


def config_of(env_id: str, mode: str, env_config: dict[str, Any] | None = None, **env_runners: Any) -> PPOConfig:
    """Lanes of an environment, and nothing to learn with yet."""
    return (
        PPOConfig()
        .environment(env_id, env_config=env_config or {})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=3, gym_env_vectorize_mode=mode, **env_runners)
        .debugging(seed=5, log_level="ERROR")
    )


def runner_of(env_id: str, mode: str, **keywords: Any) -> SingleAgentEnvRunner:
    """What plays, in this process."""
    return SingleAgentEnvRunner(config=config_of(env_id, mode, **keywords))


def sampled(runner: SingleAgentEnvRunner, steps: int = 90) -> list[Any]:
    """The episodes of random actions, which are seeded."""
    runner.env.action_space.seed(3)
    return list(runner.sample(num_timesteps=steps, random_actions=True))


def assert_episodes_are_whole(episodes: list[Any]) -> None:
    """Each is one of CartPole's own: a reward of 1 for each step, and as many observations and one more."""
    for episode in episodes:
        assert len(episode.get_observations()) == len(episode.get_rewards()) + 1
        assert episode.get_return() == len(episode)


def check_episodes_are_those_of_local_environments() -> None:
    local = runner_of("CartPole-v1", "sync")
    wanted = sampled(local)
    assert sum(episode.is_terminated for episode in wanted) > 1
    for mode in ("sync", VECTOR):
        runner = runner_of(CARTPOLE, mode)
        episodes = sampled(runner)
        assert len(episodes) == len(wanted)
        assert_episodes_are_whole(episodes)
        for got, expected in zip(episodes, wanted, strict=True):
            np.testing.assert_array_equal(got.get_observations(), expected.get_observations())
            np.testing.assert_array_equal(got.get_actions(), expected.get_actions())
            np.testing.assert_array_equal(got.get_rewards(), expected.get_rewards())
            assert (got.is_terminated, got.is_truncated) == (expected.is_terminated, expected.is_truncated)
        runner.stop()
    local.stop()


def check_worker_processes() -> None:
    runner = runner_of(CARTPOLE, "async")
    assert_episodes_are_whole(sampled(runner, 30))
    runner.stop()


def check_the_mode_is_the_one_that_rllib_expects_and_never_asks_for() -> None:
    runner = runner_of(CARTPOLE, VECTOR)
    envs = runner.env.unwrapped
    assert isinstance(envs, openenv_gym.RemoteVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    runner.stop()
    # Another one is taken without a word, and the first step of each episode lost: docs/how-to/rllib.md warns of it.
    runner = runner_of(CARTPOLE, VECTOR, env_config={"autoreset_mode": "SameStep"})
    assert sampled(runner)
    runner.stop()


def check_truncated_episodes() -> None:
    runner = runner_of(CARTPOLE, VECTOR, env_config={"max_episode_steps": 8})
    episodes = sampled(runner)
    assert_episodes_are_whole(episodes)
    assert {len(episode) for episode in episodes if episode.is_truncated} == {8}
    runner.stop()


def check_integers_of_32_bits_are_actions() -> None:
    envs = gymnasium.make_vec(CARTPOLE, num_envs=2)
    envs.reset(seed=1)
    envs.step(np.array([0, 1], np.int32))
    envs.close()
    env = gymnasium.make(CARTPOLE)
    env.reset(seed=1)
    env.step(np.int32(1))
    env.close()
    runner = runner_of(CARTPOLE, VECTOR)
    episodes = runner.sample(num_timesteps=12, explore=True)
    assert all(episode.get_actions().dtype.kind == "i" for episode in episodes)
    assert_episodes_are_whole(episodes)
    runner.stop()


def check_dict_observations() -> None:
    runner = runner_of(
        "openenv_gym:openenv/GridWorld-v0",
        VECTOR,
        env_to_module_connector=lambda *_, **__: FlattenObservations(),
    )
    episodes = runner.sample(num_timesteps=12, explore=True)
    assert all(episode.get_observations(0).shape == (4,) for episode in episodes)
    runner.stop()


def check_a_lost_server_is_replaced() -> None:
    config = config_of(CARTPOLE, VECTOR).fault_tolerance(restart_failed_sub_environments=True)
    runner = SingleAgentEnvRunner(config=config)
    sampled(runner, 12)
    before = runner.env.unwrapped.servers[0]
    openenv_gym.shutdown()
    assert_episodes_are_whole(sampled(runner, 30))
    after = runner.env.unwrapped.servers[0]
    assert after is not None
    assert after != before
    runner.stop()


def _algorithm() -> Any:
    """PPO with one process that plays."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    config = config_of(CARTPOLE, VECTOR).env_runners(num_env_runners=1, rollout_fragment_length=32)
    return config.training(train_batch_size_per_learner=96, minibatch_size=32, num_epochs=1).build_algo()


def check_an_algorithm_learns_from_another_process() -> None:
    algorithm = _algorithm()
    played = algorithm.train()["env_runners"]
    assert played["num_env_steps_sampled_lifetime"] >= 96
    algorithm.stop()
    ray.shutdown()


def unclosed() -> str:
    """Learns a little, and leaves."""
    algorithm = _algorithm()
    algorithm.train()
    workers = algorithm.env_runner_group
    found = workers.foreach_env_runner(lambda runner: runner.env.unwrapped.servers[0], local_env_runner=False)
    return str(found[0])


if __name__ == "__main__":
    run(globals())
