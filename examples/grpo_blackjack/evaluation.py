"""Win rates with intervals, and two policies at the same hands."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from collecting import play
from numpy.typing import NDArray
from policy import Policy

from openenv_gym import RemoteVectorEnv

FIRST_SEED = 1_000_000
"""The seed of the first hand of the evaluation, the others follow by one. Hands to learn from have smaller ones."""

FIRST_CURVE_SEED = 2_000_000
"""The same of the hands that are played on the way, so that nothing is chosen by the evaluation's own."""

_Z = 1.959963984540054  # 95 % of a normal distribution lie within so many deviations


@dataclass
class Comparison:
    """How two policies did at the same hands.

    Attributes:
        hands: How many.
        both: Hands that both won.
        only_trained: Hands that the trained policy alone won.
        only_untrained: Hands that the untrained policy alone won.
    """

    hands: int
    both: int
    only_trained: int
    only_untrained: int

    @property
    def trained(self) -> float:
        """The win rate of the trained policy."""
        return (self.both + self.only_trained) / self.hands

    @property
    def untrained(self) -> float:
        """The win rate of the untrained policy."""
        return (self.both + self.only_untrained) / self.hands

    @property
    def difference(self) -> float:
        """By how much the trained policy wins more often."""
        return self.trained - self.untrained

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference, from the pairs of hands."""
        differing = self.only_trained + self.only_untrained
        deviation = math.sqrt(differing - (self.only_trained - self.only_untrained) ** 2 / self.hands) / self.hands
        return self.difference - _Z * deviation, self.difference + _Z * deviation


def win_interval(wins: int, hands: int) -> tuple[float, float]:
    """The 95 % interval of a win rate, by Wilson's score."""
    rate, scale = wins / hands, 1 + _Z**2 / hands
    middle = (rate + _Z**2 / (2 * hands)) / scale
    half = _Z / scale * math.sqrt(rate * (1 - rate) / hands + _Z**2 / (4 * hands**2))
    return middle - half, middle + half


def wins_by_hand(
    envs: RemoteVectorEnv, policy: Policy, hands: int, draw_seed: int, first_seed: int = FIRST_SEED
) -> NDArray[np.bool_]:
    """Whether a policy wins each hand, bool of shape ``(hands,)``; actions are drawn as in training.

    Args:
        envs: The lanes.
        policy: Who plays.
        hands: How many.
        draw_seed: Of the numbers that actions are drawn by.
        first_seed: The first hand's seed; the others follow by one.
    """
    random = np.random.default_rng(draw_seed)
    lanes = envs.num_envs
    starts = range(first_seed, first_seed + hands, lanes)
    rounds = [play(envs, policy, range(start, start + lanes), random) for start in starts]
    return np.concatenate([each.returns > 0 for each in rounds])[:hands]


def compare(trained: NDArray[np.bool_], untrained: NDArray[np.bool_]) -> Comparison:
    """Counts the pairs of hands."""
    return Comparison(
        hands=len(trained),
        both=int(np.sum(trained & untrained)),
        only_trained=int(np.sum(trained & ~untrained)),
        only_untrained=int(np.sum(~trained & untrained)),
    )
