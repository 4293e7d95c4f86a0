"""Plays hands in many remote lanes at once and keeps what they were made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from policy import Policy, choose
from torch import Tensor

from openenv_gym import RemoteVectorEnv


@dataclass
class Hands:
    """Hands that were played to their ends.

    Attributes:
        features: What the player saw at each decision of all hands, float32 of shape ``(decisions, features)``.
        actions: What was chosen, int64 of shape ``(decisions,)``.
        log_probs: The log probability of each, as it was when it was chosen, float32 of shape ``(decisions,)``.
        hand: The hand that each decision belongs to, int64 of shape ``(decisions,)``.
        returns: The sum of each hand's rewards, float64 of shape ``(hands,)``.
    """

    features: Tensor
    actions: Tensor
    log_probs: Tensor
    hand: Tensor
    returns: NDArray[np.float64]


def play(envs: RemoteVectorEnv, policy: Policy, seeds: Sequence[int], random: np.random.Generator) -> Hands:
    """Plays one hand in each lane.

    Args:
        envs: The lanes, which do not reset themselves.
        policy: Who plays.
        seeds: The seed of each lane's hand. Hands of equal seeds have the same cards in the same order.
        random: Draws the actions.

    Raises:
        RuntimeError: Hands of equal seeds began with different cards.
    """
    observations, _ = envs.reset(seed=list(seeds))
    _check_groups(observations, seeds)
    lanes = np.arange(envs.num_envs)
    returns = np.zeros(envs.num_envs)
    steps: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
    while len(lanes):
        features = policy.encode(observations)
        actions, log_probs = choose(policy, features, random.random(len(lanes)))
        steps.append((features, torch.as_tensor(actions), log_probs, torch.as_tensor(lanes)))
        lanes, observations, rewards, over = _step(envs, lanes, actions)
        returns[lanes] += rewards
        lanes, observations = lanes[~over], tuple(part[~over] for part in observations)
    return Hands(*(torch.cat(column) for column in zip(*steps, strict=True)), returns)


def _step(envs: RemoteVectorEnv, lanes: NDArray[np.int64], actions: NDArray[np.int64]) -> tuple[Any, ...]:
    # Only hands that go on are stepped: a hand that is over waits for the next reset.
    envs.send(actions, lanes)
    lanes, observations, rewards, terminations, truncations, _ = envs.recv(min_lanes=len(lanes))
    return lanes, observations, rewards, terminations | truncations


def _check_groups(observations: tuple[NDArray[np.int64], ...], seeds: Sequence[int]) -> None:
    # The whole method rests on it: an advantage compares what was done with the same cards.
    seen: dict[int, tuple[int, ...]] = {}
    for seed, row in zip(seeds, zip(*observations, strict=True), strict=True):
        first = tuple(int(part) for part in row)
        if seen.setdefault(seed, first) != first:
            raise RuntimeError(f"Hands of seed {seed} began as {seen[seed]} and as {first}: groups share no cards.")
