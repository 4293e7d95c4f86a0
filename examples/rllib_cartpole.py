"""Learns CartPole by RLlib's PPO on a vector of remote environments.

Run it with ``python examples/rllib_cartpole.py``; it needs RLlib (``pip install ray[rllib] torch``). RLlib makes the
environments itself, in any of its processes: the id names the module to import, and ``vector_entry_point`` has it make
one vector of remote lanes instead of single environments. Its autoreset mode stays NextStep, which RLlib expects.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, fields
from typing import Any

import ray
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

import openenv_gym


@dataclass
class Args:
    """What may be set on the command line, each as ``--name value``."""

    env_id: str = "openenv_gym:openenv/CartPole-v1"
    """the environment; its actions are Discrete"""
    num_envs: int = 32
    """lanes: environments that step at once"""
    total_steps: int = 24_576
    """steps to learn from, over all lanes"""
    num_steps: int = 32
    """steps of each lane between two updates"""
    seed: int = 1
    """seed of the networks and of the environments"""


def build(args: Args) -> Algorithm:
    """PPO that plays and learns in this process."""
    steps = args.num_envs * args.num_steps
    config = (
        PPOConfig()
        .environment(args.env_id)
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=args.num_envs,
            rollout_fragment_length=args.num_steps,
            gym_env_vectorize_mode="vector_entry_point",
        )
        .training(
            lr=1e-3,
            train_batch_size_per_learner=steps,
            minibatch_size=256,
            num_epochs=8,
            vf_loss_coeff=0.01,
            entropy_coeff=0.005,
        )
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64], fcnet_activation="tanh"))
        .reporting(metrics_num_episodes_for_smoothing=50)
        .debugging(seed=args.seed, log_level="ERROR")
    )
    return config.build_algo()


def learn(algorithm: Algorithm, args: Args) -> dict[str, Any]:
    """Plays and learns, and prints how it goes; returns what RLlib measured of the play."""
    played: dict[str, Any] = {"num_env_steps_sampled_lifetime": 0}
    while played["num_env_steps_sampled_lifetime"] < args.total_steps:
        played = algorithm.train()["env_runners"]
        steps = int(played["num_env_steps_sampled_lifetime"])
        print(f"{steps:>7,} steps: mean return {played['episode_return_mean']:.1f}", flush=True)
    return played


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
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    algorithm = build(args)
    started = time.perf_counter()
    try:
        played = learn(algorithm, args)
    finally:
        algorithm.stop()
        openenv_gym.shutdown()
        ray.shutdown()
    seconds, steps = time.perf_counter() - started, int(played["num_env_steps_sampled_lifetime"])
    print(f"{args.env_id}, seed {args.seed}: {steps:,} steps in {seconds:.0f} s")
    print(f"mean return of the last 50 episodes: {played['episode_return_mean']:.1f}")


if __name__ == "__main__":
    main()
