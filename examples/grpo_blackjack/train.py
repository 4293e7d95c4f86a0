"""Teaches a small policy blackjack by GRPO, on hands that a remote environment deals.

Run it with ``python examples/grpo_blackjack/train.py --seed 0``; it needs PyTorch and matplotlib. It starts one server
process, plays in many sessions of it as lanes of one vector environment, and stops the server at its end.
"""

from __future__ import annotations

import argparse
import copy
import time
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path

import gymnasium
import numpy as np
import torch
from collecting import play
from evaluation import FIRST_CURVE_SEED, FIRST_SEED, Comparison, compare, wins_by_hand
from grpo import Learner, Settings
from policy import Policy
from report import Point, Result, line, write_result, write_summary

import openenv_gym
from openenv_gym import RemoteVectorEnv

ENV_ID = "openenv/Blackjack-v0"
RESULTS = Path(__file__).parent / "results"
VERSIONS = ("gymnasium", "numpy", "torch")


@dataclass
class Args:
    """What may be set on the command line, each as ``--name value``."""

    seed: int = 0
    """seed of the network, of the hands to learn from and of the actions"""
    updates: int = 150
    """how often the policy is improved"""
    groups: int = 32
    """groups of hands between two updates; the hands of a group have the same cards"""
    group_size: int = 16
    """hands of a group"""
    hands: int = 5000
    """hands of the evaluation"""
    look_every: int = 10
    """updates between two points of the curve"""
    kl_weight: float = Settings.kl_weight
    """what distance from the untrained policy costs"""
    learning_rate: float = Settings.learning_rate
    """of Adam"""
    results: str = str(RESULTS)
    """the folder for results"""


def learn(envs: RemoteVectorEnv, policy: Policy, args: Args) -> list[Point]:
    """Improves the policy, and returns how well it played on the way."""
    settings = Settings(learning_rate=args.learning_rate, kl_weight=args.kl_weight)
    learner = Learner(policy, copy.deepcopy(policy), settings)
    random = np.random.default_rng(args.seed)
    curve = [_look(envs, policy, args, 0)]
    for update in range(1, args.updates + 1):
        seeds = np.repeat(random.integers(FIRST_SEED, size=args.groups), args.group_size)
        hands = play(envs, policy, seeds.tolist(), random)
        learner.update(hands, args.group_size)
        if update % args.look_every == 0:
            curve.append(_look(envs, policy, args, update * envs.num_envs))
    return curve


def _look(envs: RemoteVectorEnv, policy: Policy, args: Args, learnt_from: int) -> Point:
    # Hands to learn from are no measure: those of a group have the same cards, so that few of them count.
    hands = 2 * envs.num_envs
    wins = int(wins_by_hand(envs, policy, hands, args.seed, FIRST_CURVE_SEED).sum())
    print(f"{learnt_from:>7,} hands: {wins / hands:.1%} won", flush=True)
    return {"learnt_from": learnt_from, "hands": hands, "wins": wins}


def run(envs: RemoteVectorEnv, args: Args) -> Result:
    """Learns, and plays the evaluation before and after."""
    policy = Policy(envs.single_observation_space, envs.single_action_space)
    untrained = wins_by_hand(envs, policy, args.hands, draw_seed=args.seed)
    curve = learn(envs, policy, args)
    trained = wins_by_hand(envs, policy, args.hands, draw_seed=args.seed)
    found: Comparison = compare(trained, untrained)
    return {
        "seed": args.seed,
        "settings": {name: value for name, value in asdict(args).items() if name not in ("seed", "results")},
        "parameters": policy.parameter_count,
        "versions": {name: version(name).partition("+")[0] for name in VERSIONS},
        "curve": curve,
        "evaluation": asdict(found),
    }


def parse_args() -> Args:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for field in fields(Args):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    return Args(**vars(parser.parse_args()))


def main() -> None:
    """Learns, evaluates and reports."""
    args = parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # the network is small, and sums of several threads come in no fixed order
    torch.use_deterministic_algorithms(mode=True)
    started = time.perf_counter()
    envs = gymnasium.make_vec(ENV_ID, num_envs=args.groups * args.group_size, autoreset_mode="Disabled")
    try:
        assert isinstance(envs, RemoteVectorEnv)
        result = run(envs, args)
    finally:
        envs.close()
        openenv_gym.shutdown()
    write_result(Path(args.results), result)
    write_summary(Path(args.results))
    print(line(result))
    print(f"{time.perf_counter() - started:.0f} s; written to {args.results}")


if __name__ == "__main__":
    main()
