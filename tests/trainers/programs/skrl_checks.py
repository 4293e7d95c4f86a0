"""skrl on remote environments, by ``wrap_env``."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed
from torch import nn

import openenv_gym
from tests.trainers.programs.running import raises, run

CARTPOLE = "openenv/CartPole-v1"
GRID = "openenv/GridWorld-v0"


def remote(mode: str, env_id: str = CARTPOLE, num_envs: int = 3, **keywords: Any) -> Any:
    """Remote lanes as skrl sees them."""
    envs = gymnasium.make_vec(env_id, num_envs=num_envs, autoreset_mode=mode, **keywords)
    return wrap_env(envs)


def local(mode: AutoresetMode, num_envs: int = 3, **keywords: Any) -> Any:
    """The same of local environments."""
    return wrap_env(SyncVectorEnv([lambda: gymnasium.make("CartPole-v1", **keywords)] * num_envs, autoreset_mode=mode))


def assert_equal_play(ours: Any, theirs: Any, steps: int) -> int:
    """Both play the same; counts the episodes that ended."""
    rng = np.random.default_rng(5)
    torch.testing.assert_close(ours.reset()[0], theirs.reset()[0], rtol=0, atol=0)
    ends = 0
    for _ in range(steps):
        actions = torch.as_tensor(rng.integers(0, 2, (ours.num_envs, 1)))
        seen, wanted = ours.step(actions), theirs.step(actions)
        for got, expected in zip(seen[:4], wanted[:4], strict=True):
            torch.testing.assert_close(got, expected, rtol=0, atol=0)
        over = seen[2] | seen[3]
        ends += int(over.sum())
        if ours.num_envs == 1 and over.all():
            torch.testing.assert_close(ours.reset()[0], theirs.reset()[0], rtol=0, atol=0)
    return ends


def check_a_single_environment_plays_as_the_local_one() -> None:
    set_seed(3)
    ours, theirs = (wrap_env(gymnasium.make(env_id)) for env_id in (CARTPOLE, "CartPole-v1"))
    assert assert_equal_play(ours, theirs, 80) > 1
    ours.close()


def check_lanes_play_as_local_ones_in_both_modes() -> None:
    for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
        for wire in ("vector", "standard"):
            set_seed(3)
            ours = remote(mode.value, wire=wire, max_episode_steps=15)
            assert assert_equal_play(ours, local(mode, max_episode_steps=15), 80) > 5
            ours.close()


def check_only_the_first_reset_resets_lanes() -> None:
    set_seed(3)
    env = remote("SameStep")
    first = env.reset()[0]
    led_to = env.step(torch.zeros((3, 1), dtype=torch.int64))[0]
    assert not torch.equal(first, led_to)
    torch.testing.assert_close(env.reset()[0], led_to, rtol=0, atol=0)
    env.close()


def check_lanes_that_nobody_resets_fail_at_the_end_of_an_episode() -> None:
    env = remote("Disabled")
    env.reset()
    with raises(AssertionError, "autoreset"):
        for _ in range(40):
            env.step(torch.zeros((3, 1), dtype=torch.int64))
            env.reset()
    env.close()


def check_dict_observations() -> None:
    env = remote("SameStep", GRID)
    observations = env.reset()[0]
    assert observations.shape == (3, 4)
    assert env.step(torch.zeros((3, 1), dtype=torch.int64))[0].shape == (3, 4)
    env.close()


def check_pictures() -> None:
    env = remote("SameStep", GRID, render_mode="rgb_array")
    env.reset()
    assert {picture.shape[-1] for picture in env.render()} == {3}
    env.close()


class Policy(CategoricalMixin, Model):
    """One layer."""

    def __init__(self, **spaces: Any) -> None:
        Model.__init__(self, **spaces, device="cpu")
        CategoricalMixin.__init__(self)
        self.net = nn.Linear(self.num_observations, self.num_actions)

    def compute(self, inputs: Any, role: str = "") -> Any:
        """The logits."""
        return self.net(inputs["observations"]), {}


class Value(DeterministicMixin, Model):
    """One layer."""

    def __init__(self, **spaces: Any) -> None:
        Model.__init__(self, **spaces, device="cpu")
        DeterministicMixin.__init__(self)
        self.net = nn.Linear(self.num_observations, 1)

    def compute(self, inputs: Any, role: str = "") -> Any:
        """The value."""
        return self.net(inputs["observations"]), {}


def train(env: Any, timesteps: int) -> None:
    """PPO, for a moment."""
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    cfg = PPO_CFG(rollouts=16, learning_epochs=1, mini_batches=1)
    cfg.experiment.write_interval = cfg.experiment.checkpoint_interval = 0
    memory = RandomMemory(memory_size=16, num_envs=env.num_envs, device="cpu")
    models = {"policy": Policy(**spaces), "value": Value(**spaces)}
    agent = PPO(models=models, memory=memory, cfg=cfg, **spaces, device="cpu")
    options = {"timesteps": timesteps, "headless": True, "disable_progressbar": True}
    SequentialTrainer(env=env, agents=agent, cfg={**options, "close_environment_at_exit": False}).train()


def check_a_trainer_runs_on_one_and_on_many() -> None:
    for env in (wrap_env(gymnasium.make(CARTPOLE)), remote("SameStep"), remote("NextStep")):
        train(env, 48)
        env.close()


def unclosed() -> str:
    """Trains a little, and leaves."""
    envs = gymnasium.make_vec(CARTPOLE, num_envs=2, autoreset_mode="SameStep")
    train(wrap_env(envs), 16)
    server = envs.unwrapped.servers[0]
    assert server is not None
    return server


assert openenv_gym  # registers the ids

if __name__ == "__main__":
    run(globals())
