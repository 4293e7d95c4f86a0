"""Learns CartPole by TorchRL's PPO on a vector of remote environments.

Run it with ``python examples/torchrl_cartpole.py``; it needs TorchRL (``pip install torchrl``). TorchRL resets lanes
itself when their episodes end, so the autoreset mode is Disabled.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from dataclasses import dataclass, fields

import gymnasium
import numpy as np
import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.envs import EnvBase, GymWrapper, RewardSum, TransformedEnv
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import openenv_gym


@dataclass
class Args:
    """What may be set on the command line, each as ``--name value``."""

    env_id: str = "openenv/CartPole-v1"
    """the environment; its actions are Discrete"""
    num_envs: int = 32
    """lanes: environments that step at once"""
    total_steps: int = 30_720
    """steps to learn from, over all lanes; a multiple of num_envs * num_steps"""
    num_steps: int = 32
    """steps of each lane between two updates"""
    epochs: int = 8
    """passes over the steps of an update"""
    minibatch: int = 256
    """steps of one gradient"""
    learning_rate: float = 1e-3
    """of Adam"""
    seed: int = 1
    """seed of the networks and of the environments"""


def make_env(args: Args) -> EnvBase:
    """The lanes as one environment of TorchRL, which sums up the rewards of an episode."""
    envs = gymnasium.make_vec(args.env_id, num_envs=args.num_envs, autoreset_mode="Disabled")
    # Actions as numbers: the networks below are not for one-hot vectors.
    return TransformedEnv(GymWrapper(envs, categorical_action_encoding=True), RewardSum())


def make_networks(env: EnvBase) -> tuple[ProbabilisticActor, ValueOperator]:
    """The policy and the value network."""
    inputs, actions = env.observation_spec["observation"].shape[-1], env.action_spec.space.n

    def network(outputs: int) -> nn.Module:
        return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))

    logits = TensorDictModule(network(actions), in_keys=["observation"], out_keys=["logits"])
    policy = ProbabilisticActor(
        logits, in_keys=["logits"], distribution_class=Categorical, return_log_prob=True, spec=env.action_spec_unbatched
    )
    return policy, ValueOperator(network(1), in_keys=["observation"])


def update(loss: ClipPPOLoss, optimiser: torch.optim.Optimizer, steps: TensorDictBase, args: Args) -> None:
    """Improves the networks by what was played."""
    for _ in range(args.epochs):
        with torch.no_grad():
            loss.value_estimator(steps)
        flat = steps.reshape(-1)
        for part in torch.randperm(len(flat)).split(args.minibatch):
            losses = loss(flat[part])
            optimiser.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
            nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
            optimiser.step()


def learn(env: EnvBase, args: Args) -> tuple[int, deque[float]]:
    """Plays and learns; returns the steps that were taken and the returns of the last episodes."""
    policy, value = make_networks(env)
    loss = ClipPPOLoss(policy, value, entropy_coeff=0.005, critic_coeff=0.5, normalize_advantage=True)
    loss.value_estimator = GAE(gamma=0.99, lmbda=0.95, value_network=value)
    optimiser = torch.optim.Adam(loss.parameters(), lr=args.learning_rate)
    frames = args.num_envs * args.num_steps
    collector = Collector(
        env, policy, frames_per_batch=frames, total_frames=args.total_steps, auto_register_policy_transforms=False
    )
    returns: deque[float] = deque(maxlen=50)
    taken = 0
    for number, steps in enumerate(collector):
        taken += steps.numel()
        following = steps["next"]
        returns.extend(following["episode_reward"][following["done"]].tolist())
        update(loss, optimiser, steps, args)
        if number % 5 == 4:
            print(f"{taken:>7,} steps: mean return {np.mean(returns):.1f}", flush=True)
    return taken, returns


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
    torch.set_num_threads(1)  # the networks are small, and the server needs a core
    env = make_env(args)
    env.set_seed(args.seed)
    started = time.perf_counter()
    try:
        steps, returns = learn(env, args)
    finally:
        env.close(raise_if_closed=False)
        openenv_gym.shutdown()
    seconds = time.perf_counter() - started
    print(f"{args.env_id}, seed {args.seed}: {steps:,} steps in {seconds:.0f} s")
    print(f"mean return of the last {len(returns)} episodes: {np.mean(returns):.1f}")


if __name__ == "__main__":
    main()
