"""The policy: a small network from what the player sees to the log odds of sticking and hitting."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor, nn


class Policy(nn.Module):
    """A perceptron over one-hot observations.

    Args:
        observation: The environment's observation space: a Tuple of Discretes that start at 0.
        action: Its action space.
        hidden: The width of the hidden layer.

    Raises:
        TypeError: The spaces are others.
    """

    def __init__(self, observation: spaces.Space[Any], action: spaces.Space[Any], hidden: int = 64) -> None:
        super().__init__()
        if not isinstance(action, spaces.Discrete):
            raise TypeError(f"The policy chooses from Discrete actions, not from {action}.")
        self._sizes = _sizes(observation)
        self.layers = nn.Sequential(nn.Linear(sum(self._sizes), hidden), nn.Tanh(), nn.Linear(hidden, int(action.n)))

    def encode(self, observations: tuple[NDArray[np.int64], ...]) -> Tensor:
        """One-hot rows, float32 of shape ``(lanes, features)``, of a batched observation."""
        parts = zip(observations, self._sizes, strict=True)
        hot = [nn.functional.one_hot(torch.as_tensor(part), size) for part, size in parts]
        return torch.cat(hot, dim=1).float()

    def forward(self, features: Tensor) -> Tensor:
        """Log probabilities, shape ``(rows, actions)``, of encoded observations."""
        return torch.log_softmax(self.layers(features), dim=-1)

    @property
    def parameter_count(self) -> int:
        """How many numbers are learnt."""
        return sum(parameter.numel() for parameter in self.parameters())


def _sizes(observation: spaces.Space[Any]) -> list[int]:
    if not isinstance(observation, spaces.Tuple):
        raise TypeError(f"The policy sees a Tuple of Discretes, not {observation}.")
    sizes = []
    for part in observation.spaces:
        if not isinstance(part, spaces.Discrete) or part.start != 0:
            raise TypeError(f"The policy sees Discretes that start at 0, not {part}.")
        sizes.append(int(part.n))
    return sizes


@torch.no_grad()
def choose(policy: Policy, features: Tensor, draws: NDArray[np.float64]) -> tuple[NDArray[np.int64], Tensor]:
    """Draws one action for each row.

    Args:
        policy: The policy.
        features: Encoded observations, shape ``(rows, features)``.
        draws: A number from 0 to 1 for each row. Equal numbers and odds choose equal actions, however the rows are
            grouped.

    Returns:
        The actions, and the log probability of each.
    """
    log_probs = policy(features)
    below = torch.as_tensor(draws)[:, None] >= log_probs.double().exp().cumsum(dim=1)
    actions = below.sum(dim=1).clamp(max=log_probs.shape[1] - 1)
    return actions.numpy(), log_probs.gather(1, actions[:, None]).squeeze(1)
