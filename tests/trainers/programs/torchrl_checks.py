"""TorchRL on remote environments: single and vectorised, by the ids and by ``gymnasium.make_vec``."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torchrl.collectors import Collector
from torchrl.envs import EnvBase, GymEnv, GymWrapper, StepCounter, TransformedEnv
from torchrl.envs.utils import check_env_specs

import openenv_gym
from tests.trainers.programs.running import raises, run

CARTPOLE = "openenv/CartPole-v1"


def remote(mode: str, num_envs: int = 3, **keywords: Any) -> EnvBase:
    """Remote lanes as an environment of TorchRL."""
    envs = gymnasium.make_vec(CARTPOLE, num_envs=num_envs, autoreset_mode=mode, **keywords)
    return GymWrapper(envs, categorical_action_encoding=True)


def local(mode: AutoresetMode, num_envs: int = 3, **keywords: Any) -> EnvBase:
    """The same of local environments."""
    envs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1", **keywords)] * num_envs, autoreset_mode=mode)
    return GymWrapper(envs, categorical_action_encoding=True)


def played(env: EnvBase, steps: int) -> Any:
    """A rollout with set actions, which goes on after the end of an episode."""
    env.set_seed(7)
    rng = np.random.default_rng(5)

    def act(tensordict: Any) -> Any:
        actions = rng.integers(0, 2, env.batch_size)
        return tensordict.set("action", torch.as_tensor(np.asarray(actions)).expand(env.action_spec.shape).clone())

    return env.rollout(steps, act, break_when_any_done=False)


def assert_equal_play(ours: EnvBase, theirs: EnvBase, steps: int) -> Any:
    """Both play the same; returns what ours did."""
    seen, wanted = played(ours, steps), played(theirs, steps)
    for key in (
        "observation",
        ("next", "observation"),
        ("next", "reward"),
        ("next", "terminated"),
        ("next", "truncated"),
    ):
        torch.testing.assert_close(seen[key], wanted[key], rtol=0, atol=0, msg=lambda text, key=key: f"{key}: {text}")
    assert seen["next", "done"].sum() > 3
    return seen


def check_specs_of_single_environments_and_of_vectors() -> None:
    for env in (GymEnv(CARTPOLE), remote("Disabled"), remote("SameStep")):
        check_env_specs(env)
        env.close()


def check_the_probe_for_frame_skipping_is_refused_as_gymnasium_does() -> None:
    env = GymEnv(CARTPOLE, frame_skip=3)
    assert env.wrapper_frame_skip == 3
    env.reset()
    assert env.rand_step()["next", "reward"].item() == 3
    env.close()
    with raises(TypeError, "unexpected keyword argument 'frameskip'"):
        gymnasium.make(CARTPOLE, frameskip=1)


def check_a_single_environment_plays_as_the_local_one() -> None:
    ours, theirs = (GymEnv(env_id, categorical_action_encoding=True) for env_id in (CARTPOLE, "CartPole-v1"))
    assert_equal_play(ours, theirs, 80)
    ours.close()


def check_lanes_that_torchrl_resets_play_as_local_ones() -> None:
    for wire in ("vector", "standard"):
        ours = remote("Disabled", wire=wire, max_episode_steps=15)
        seen = assert_equal_play(ours, local(AutoresetMode.DISABLED, max_episode_steps=15), 80)
        assert seen["next", "truncated"].any()
        assert seen["next", "terminated"].any()
        # What follows an end is a new episode, and what a step led to is not lost.
        over = seen["next", "done"][:, :-1].squeeze(-1)
        assert not torch.equal(seen["next", "observation"][:, :-1][over], seen["observation"][:, 1:][over])
        ours.close()


def check_lanes_that_reset_themselves_keep_the_final_observation() -> None:
    ours = remote("SameStep")
    seen = played(ours, 80)
    wanted = played(local(AutoresetMode.DISABLED), 80)
    torch.testing.assert_close(seen["next", "observation"], wanted["next", "observation"], rtol=0, atol=0)
    torch.testing.assert_close(seen["next", "reward"], wanted["next", "reward"], rtol=0, atol=0)
    ours.close()


def check_the_mode_that_torchrl_cannot_use_is_refused() -> None:
    with raises(RuntimeError, "auto-reset mode"):
        remote("NextStep")


def check_a_collector_counts_steps_by_episode() -> None:
    for mode in ("Disabled", "SameStep"):
        env = TransformedEnv(remote(mode, num_envs=4, max_episode_steps=15), StepCounter())
        collector = Collector(env, frames_per_batch=64, total_frames=192)
        frames = 0
        for steps in collector:
            frames += steps.numel()
            following = steps["next"]
            assert following["step_count"].max() <= 15
            assert (following["step_count"][following["truncated"]] == 15).all()
            assert (steps["step_count"][:, 1:][following["done"][:, :-1]] == 0).all()
        assert frames == 192
        collector.shutdown()


def check_worker_processes() -> None:
    env = GymEnv("openenv_gym:openenv/CartPole-v1", num_workers=2)
    steps = env.rollout(5)
    assert steps.batch_size[0] == 2
    env.close()


def unclosed() -> str:
    """Plays a little, and leaves."""
    envs = gymnasium.make_vec(CARTPOLE, num_envs=2, autoreset_mode="Disabled")
    GymWrapper(envs).rollout(5)
    GymEnv(CARTPOLE).rollout(5)
    server = envs.unwrapped.servers[0]
    assert server is not None
    return server


assert openenv_gym  # registers the ids

if __name__ == "__main__":
    run(globals())
