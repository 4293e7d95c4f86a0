"""Learns CartPole by Tianshou's PPO on a vector of remote environments.

Run it with ``python examples/tianshou_cartpole.py``; it needs Tianshou 2 (``pip install tianshou``). All lanes step in
one message of the vector wire: ``TianshouVectorEnv`` is what Tianshou's collectors see of them.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from dataclasses import dataclass, fields

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteCritic
from torch import nn

import openenv_gym
from openenv_gym.trainers.tianshou import TianshouVectorEnv


@dataclass
class Args:
    """What may be set on the command line, each as ``--name value``."""

    env_id: str = "openenv/CartPole-v1"
    """the environment; its actions are Discrete"""
    num_envs: int = 32
    """lanes: environments that step at once"""
    total_steps: int = 24_576
    """steps to learn from, over all lanes"""
    num_steps: int = 32
    """steps of each lane between two updates"""
    seed: int = 1
    """seed of the networks and of the first lane; the others follow by one"""


class Returns(Collector[CollectStats]):
    """A collector that keeps the returns of the last episodes."""

    def __init__(self, policy: DiscreteActorPolicy, envs: TianshouVectorEnv, steps: int) -> None:
        super().__init__(policy, envs, VectorReplayBuffer(steps, len(envs)))
        self.last: deque[float] = deque(maxlen=50)
        self.steps = 0

    def collect(self, *args: object, **kwargs: object) -> CollectStats:
        """Collects, and notes what the episodes that ended returned."""
        stats = super().collect(*args, **kwargs)
        self.last.extend(stats.returns.tolist())
        self.steps += stats.n_collected_steps
        return stats


def make_algorithm(envs: TianshouVectorEnv) -> PPO:
    """PPO with a network for the policy and one for the values."""
    shape, actions = envs.env.single_observation_space.shape, envs.env.single_action_space
    hidden = {"hidden_sizes": [64, 64], "activation": nn.Tanh}
    policy = DiscreteActorPolicy(
        actor=Net(state_shape=shape, action_shape=actions.n, **hidden), action_space=actions, deterministic_eval=True
    )
    critic = DiscreteCritic(preprocess_net=Net(state_shape=shape, **hidden))
    return PPO(
        policy=policy,
        critic=critic,
        optim=AdamOptimizerFactory(lr=1e-3),
        ent_coef=0.005,
        max_grad_norm=0.5,
    )


def learn(envs: TianshouVectorEnv, args: Args) -> Returns:
    """Plays and learns."""
    algorithm = make_algorithm(envs)
    steps = args.num_envs * args.num_steps
    collector = Returns(algorithm.policy, envs, steps)
    collector.reset()
    algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=args.total_steps // steps * steps,
            collection_step_num_env_steps=steps,
            update_step_num_repetitions=8,
            batch_size=256,
            show_progress=False,
            verbose=False,
        )
    )
    return collector


def parse_args() -> Args:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for field in fields(Args):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    return Args(**vars(parser.parse_args()))


def main() -> None:
    """Learns and reports."""
    args = parse_args()
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    torch.set_num_threads(1)  # the networks are small, and the server needs a core
    envs = TianshouVectorEnv(gymnasium.make_vec(args.env_id, num_envs=args.num_envs, autoreset_mode="Disabled"))
    started = time.perf_counter()
    try:
        envs.seed(args.seed)
        collector = learn(envs, args)
    finally:
        envs.close()
        openenv_gym.shutdown()
    seconds = time.perf_counter() - started
    print(f"{args.env_id}, seed {args.seed}: {collector.steps:,} steps in {seconds:.0f} s")
    print(f"mean return of the last {len(collector.last)} episodes: {np.mean(collector.last):.1f}")


if __name__ == "__main__":
    main()
