"""Learns CartPole by skrl's PPO on a vector of remote environments.

Run it with ``python examples/skrl_cartpole.py``; it needs skrl with PyTorch (``pip install skrl[torch]``). The vector
environment is skrl's as any of Gymnasium is: ``wrap_env`` takes it. skrl resets it once, so its lanes reset themselves.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, fields
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed
from torch import Tensor, nn

import openenv_gym


@dataclass
class Args:
    """What may be set on the command line, each as ``--name value``."""

    env_id: str = "openenv/CartPole-v1"
    """the environment; its actions are Discrete"""
    num_envs: int = 32
    """lanes: environments that step at once"""
    total_steps: int = 30_720
    """steps to learn from, over all lanes"""
    num_steps: int = 32
    """steps of each lane between two updates"""
    seed: int = 1
    """seed of the networks and of the first lane; the others follow by one"""


def network(inputs: int, outputs: int) -> nn.Module:
    """Two hidden layers."""
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


class Policy(CategoricalMixin, Model):
    """The odds of each action."""

    def __init__(self, **spaces: Any) -> None:
        Model.__init__(self, **spaces, device="cpu")
        CategoricalMixin.__init__(self)
        self.net = network(self.num_observations, self.num_actions)

    def compute(self, inputs: dict[str, Tensor], role: str = "") -> tuple[Tensor, dict[str, Tensor]]:  # noqa: ARG002
        """Their logarithms, not normalised."""
        return self.net(inputs["observations"]), {}


class Value(DeterministicMixin, Model):
    """The value of an observation."""

    def __init__(self, **spaces: Any) -> None:
        Model.__init__(self, **spaces, device="cpu")
        DeterministicMixin.__init__(self)
        self.net = network(self.num_observations, 1)

    def compute(self, inputs: dict[str, Tensor], role: str = "") -> tuple[Tensor, dict[str, Tensor]]:  # noqa: ARG002
        """The values."""
        return self.net(inputs["observations"]), {}


def learn(envs: gymnasium.vector.VectorEnv, args: Args) -> int:
    """Plays and learns; returns the steps that were taken."""
    env = wrap_env(envs)
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    cfg = PPO_CFG(
        rollouts=args.num_steps,
        learning_epochs=8,
        mini_batches=4,
        learning_rate=1e-3,
        entropy_loss_scale=0.005,
        value_loss_scale=0.5,
        value_clip=0.0,  # its default bound is far below CartPole's values
        time_limit_bootstrap=True,
    )
    cfg.experiment.write_interval = cfg.experiment.checkpoint_interval = 0
    agent = PPO(
        models={"policy": Policy(**spaces), "value": Value(**spaces)},
        memory=RandomMemory(memory_size=args.num_steps, num_envs=args.num_envs, device="cpu"),
        cfg=cfg,
        **spaces,
        device="cpu",
    )
    timesteps = args.total_steps // (args.num_envs * args.num_steps) * args.num_steps
    options = {"timesteps": timesteps, "headless": True, "disable_progressbar": True}
    SequentialTrainer(env=env, agents=agent, cfg={**options, "close_environment_at_exit": False}).train()
    return timesteps * args.num_envs


def parse_args() -> Args:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for field in fields(Args):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    return Args(**vars(parser.parse_args()))


def main() -> None:
    """Learns and reports."""
    args = parse_args()
    torch.set_num_threads(1)  # the networks are small, and the server needs a core
    set_seed(args.seed)  # wrap_env's first reset has it too
    envs = RecordEpisodeStatistics(
        gymnasium.make_vec(args.env_id, num_envs=args.num_envs, autoreset_mode="SameStep"), buffer_length=50
    )
    started = time.perf_counter()
    try:
        steps = learn(envs, args)
    finally:
        envs.close()
        openenv_gym.shutdown()
    seconds = time.perf_counter() - started
    print(f"{args.env_id}, seed {args.seed}: {steps:,} steps in {seconds:.0f} s")
    print(f"mean return of the last {len(envs.return_queue)} episodes: {np.mean(envs.return_queue):.1f}")


if __name__ == "__main__":
    main()
