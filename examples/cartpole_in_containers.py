"""Learns CartPole in eight containers of four environments each, by the cross-entropy method, with numpy alone.

Build the image once, with ``python -c 'from openenv_gym.providers.docker import build_image; from
openenv_gym_registry.projects import bundled_project; build_image(bundled_project("gymnasium"))'``, and run it with
``python examples/cartpole_in_containers.py``. The containers end with the program, however that ends. The exit code is
1 if the mean return of the policy that was learned is not above 150.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, fields

import gymnasium
import numpy as np

import openenv_gym


@dataclass
class Args:
    """What may be set on the command line, each as ``--name value``."""

    num_envs: int = 32
    """lanes; each plays one candidate of a generation"""
    sessions_per_server: int = 4
    """lanes in a container"""
    generations: int = 3
    """how often the policy is improved"""
    elite: int = 6
    """candidates of which the next generation is made"""
    seed: int = 0
    """of the candidates and of the environments"""


TARGET = 150.0
"""The mean return that has to be reached."""


def play(envs: gymnasium.vector.VectorEnv, weights: np.ndarray, seed: int) -> np.ndarray:
    """Plays one episode in each lane.

    Args:
        envs: The lanes.
        weights: What each lane's policy weighs its observation by, of shape (lanes, 4): it pushes right where the
            sum is positive.
        seed: The seed of the first lane; the others follow by one.

    Returns:
        Each lane's return, of shape (lanes,).
    """
    observations, _ = envs.reset(seed=seed)
    returns = np.zeros(envs.num_envs)
    playing = np.ones(envs.num_envs, dtype=bool)
    while playing.any():
        actions = (np.sum(observations * weights, axis=1) > 0).astype(np.int64)
        observations, rewards, terminations, truncations, _ = envs.step(actions)
        returns += rewards * playing
        playing &= ~(terminations | truncations)
    return returns


def learn(envs: gymnasium.vector.VectorEnv, args: Args) -> np.ndarray:
    """Improves the policy generation by generation; returns its weights, of shape (4,)."""
    rng = np.random.default_rng(args.seed)
    mean, deviation = np.zeros(4), np.ones(4)
    for generation in range(args.generations):
        candidates = rng.normal(mean, deviation, (args.num_envs, 4))
        returns = play(envs, candidates, seed=args.seed + generation * args.num_envs)
        best = candidates[np.argsort(returns)[-args.elite :]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.1 / (generation + 1)
        print(f"generation {generation + 1}: mean return {returns.mean():.1f}, best {returns.max():.0f}", flush=True)
    return mean


def parse_args() -> Args:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for field in fields(Args):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=int, default=field.default)
    return Args(**vars(parser.parse_args()))


def main() -> int:
    """Learns, and says how well."""
    args = parse_args()
    envs = gymnasium.make_vec(
        "openenv/CartPole-v1",
        num_envs=args.num_envs,
        provider="docker",
        sessions_per_server=args.sessions_per_server,
    )
    assert isinstance(envs, openenv_gym.RemoteVectorEnv)
    try:
        started = time.perf_counter()
        policy = learn(envs, args)
        seed = args.seed + args.generations * args.num_envs
        returns = play(envs, np.tile(policy, (args.num_envs, 1)), seed=seed)
        servers = len(set(envs.servers))
        print(f"{args.num_envs} lanes in {servers} containers, {time.perf_counter() - started:.1f} s")
    finally:
        envs.close()
        openenv_gym.shutdown()
    print(f"mean return of the learned policy: {returns.mean():.1f}")
    return 0 if returns.mean() > TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
