"""Learns CartPole by Stable-Baselines3's PPO on a vector of remote environments.

Run it with ``python examples/sb3_cartpole.py``; it needs Stable-Baselines3 (``pip install stable-baselines3``). All
lanes step in one message of the vector wire: ``StableBaselines3VecEnv`` is what Stable-Baselines3 sees of them.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, fields

import gymnasium
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor

import openenv_gym
from openenv_gym.trainers.stable_baselines3 import StableBaselines3VecEnv


@dataclass
class Args:
    """What may be set on the command line, each as ``--name value``."""

    env_id: str = "openenv/CartPole-v1"
    """the environment"""
    num_envs: int = 8
    """lanes: environments that step at once, each with a session of its own"""
    total_steps: int = 60_000
    """steps to learn from, over all environments"""
    episodes: int = 20
    """episodes to judge the policy by"""
    seed: int = 1
    """seed of the networks and of the first environment"""


def make(args: Args, num_envs: int, seed: int) -> VecMonitor:
    """Lanes that Stable-Baselines3 can step."""
    envs = StableBaselines3VecEnv(gymnasium.make_vec(args.env_id, num_envs=num_envs, autoreset_mode="SameStep"))
    envs.seed(seed)
    return VecMonitor(envs)


def learn(args: Args) -> tuple[float, float]:
    """Learns, and judges what was learnt in other environments; returns the mean return and its deviation."""
    training = make(args, args.num_envs, args.seed)
    judging = make(args, 4, args.seed + 1000)
    try:
        model = PPO(
            "MlpPolicy",
            training,
            n_steps=32,
            batch_size=256,
            n_epochs=20,
            gae_lambda=0.8,
            gamma=0.98,
            learning_rate=lambda left: 1e-3 * left,
            clip_range=lambda left: 0.2 * left,
            seed=args.seed,
            device="cpu",
        )
        model.learn(total_timesteps=args.total_steps)
        mean, deviation = evaluate_policy(model, judging, n_eval_episodes=args.episodes)
    finally:
        training.close()
        judging.close()
    return float(mean), float(deviation)


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
    started = time.perf_counter()
    try:
        mean, deviation = learn(args)
    finally:
        openenv_gym.shutdown()
    seconds = time.perf_counter() - started
    print(f"{args.env_id}, seed {args.seed}: {args.total_steps:,} steps in {seconds:.0f} s")
    print(f"mean return of {args.episodes} episodes: {mean:.1f} (standard deviation {deviation:.1f})")


if __name__ == "__main__":
    main()
