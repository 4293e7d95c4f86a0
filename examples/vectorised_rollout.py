"""Plays Blackjack in many remote environments at once and prints how fast and how well.

Run it with ``python examples/vectorised_rollout.py`` (or ``make demo``). It starts one server process, opens a
session in it for each lane, steps all lanes as one Gymnasium VectorEnv, and stops the server at its end.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, fields

import gymnasium
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import openenv_gym


@dataclass
class Args:
    """What may be set on the command line, each as ``--name value``."""

    num_envs: int = 64
    """lanes: environments that step at once"""
    hands: int = 10_000
    """hands to finish, over all lanes"""
    seed: int = 0
    """seed of the first lane; the others follow by one"""


@dataclass
class Tally:
    """What was seen so far."""

    steps: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def hands(self) -> int:
        """Finished hands."""
        return self.wins + self.draws + self.losses

    def add(self, rewards: np.ndarray, finished: np.ndarray) -> None:
        """Counts the lanes whose hand ended in this step."""
        self.wins += int(np.sum(finished & (rewards > 0)))
        self.draws += int(np.sum(finished & (rewards == 0)))
        self.losses += int(np.sum(finished & (rewards < 0)))


def basic_strategy(player_sum: np.ndarray, dealer_card: np.ndarray) -> np.ndarray:
    """Hits below 12, and below 17 against a dealer who shows an ace or at least a seven."""
    stand_at = np.where((dealer_card == 1) | (dealer_card >= 7), 17, 12)
    return (player_sum < stand_at).astype(np.int64)


def play(environments: gymnasium.vector.VectorEnv, args: Args, progress: Progress) -> Tally:
    """Steps all lanes until enough hands are finished."""
    task = progress.add_task("playing", total=args.hands)
    tally = Tally()
    (player_sum, dealer_card, _), _ = environments.reset(seed=args.seed)
    resetting = np.zeros(args.num_envs, dtype=bool)
    while tally.hands < args.hands:
        actions = basic_strategy(player_sum, dealer_card)
        (player_sum, dealer_card, _), rewards, terminations, truncations, _ = environments.step(actions)
        # In NEXT_STEP autoreset, the step after an episode's end only brings the next episode's first hand.
        tally.steps += int(np.sum(~resetting))
        tally.add(rewards, terminations & ~resetting)
        resetting = terminations | truncations
        progress.update(task, completed=min(tally.hands, args.hands))
    return tally


def parse_args() -> Args:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for field in fields(Args):
        kind = seed if field.name == "seed" else count
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    return Args(**vars(parser.parse_args()))


def count(text: str) -> int:
    """Reads an integer of at least 1."""
    return _at_least(1, text)


def seed(text: str) -> int:
    """Reads an integer of at least 0."""
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no integer of at least {least}")
    return int(text)


def main() -> None:
    """Plays and reports."""
    args = parse_args()
    console = Console()
    environments = gymnasium.make_vec("openenv/Blackjack-v0", num_envs=args.num_envs)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=console) as progress:
            started = time.perf_counter()
            tally = play(environments, args, progress)
            seconds = time.perf_counter() - started
    finally:
        environments.close()
        openenv_gym.shutdown()
    console.print(f"{environments}")
    console.print(
        f"{tally.steps:,} steps of {args.num_envs} lanes in {seconds:.1f} s: {tally.steps / seconds:,.0f} steps/s"
    )
    console.print(
        f"{tally.hands:,} hands: {tally.wins / tally.hands:.1%} won, "
        f"{tally.draws / tally.hands:.1%} drawn, {tally.losses / tally.hands:.1%} lost"
    )


if __name__ == "__main__":
    main()
