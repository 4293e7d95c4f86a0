"""Group-relative policy optimisation: a hand is as good as it is better than others with the same cards.

No value network is learnt. A group of hands shares a seed, so that its hands differ by what was done in them and by
nothing else; the mean return of the group is what each of them is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from collecting import Hands
from numpy.typing import NDArray
from policy import Policy
from torch import Tensor, nn


@dataclass
class Settings:
    """How a policy is improved.

    Attributes:
        learning_rate: Of Adam.
        epochs: How often each batch of hands is gone through.
        clip: How far an update may move the odds of an action, as a part of 1.
        kl_weight: What distance from the reference policy costs; 0 for no reference.
        max_grad_norm: Longer gradients are shortened to it.
    """

    learning_rate: float = 3e-3
    epochs: int = 4
    clip: float = 0.2
    kl_weight: float = 0.0
    max_grad_norm: float = 1.0


def group_advantages(returns: NDArray[np.float64], group_size: int) -> NDArray[np.float64]:
    """What each hand earned more than its group, in standard deviations of the group.

    Args:
        returns: Of each hand, group after group, shape ``(groups * group_size,)``.
        group_size: Hands of a group.

    Returns:
        The advantages, of the same shape. Those of a group in which all earned the same are 0: it teaches nothing.
    """
    groups = returns.reshape(-1, group_size)
    spread = groups.std(axis=1, keepdims=True)
    differences = groups - groups.mean(axis=1, keepdims=True)
    return np.divide(differences, spread, out=np.zeros_like(groups), where=spread > 0).reshape(-1)


def clipped_objective(ratios: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """The smaller of the two gains, with the ratio as it is and held within ``1 ± clip``, for each decision."""
    return torch.minimum(ratios * advantages, ratios.clamp(1 - clip, 1 + clip) * advantages)


def distance(log_probs: Tensor, reference: Tensor) -> Tensor:
    """An estimate of the KL divergence from a reference, never negative, for each decision.

    Args:
        log_probs: Of the actions that were chosen, by the policy.
        reference: Of the same, by the reference.
    """
    gap = reference - log_probs
    return gap.exp() - gap - 1


class Learner:
    """Improves a policy by hands that it played.

    Args:
        policy: The policy, which is changed in place.
        reference: What it is kept near, where ``kl_weight`` is not 0.
        settings: How.
    """

    def __init__(self, policy: Policy, reference: Policy, settings: Settings) -> None:
        self._policy, self._reference, self._settings = policy, reference, settings
        self._optimiser = torch.optim.Adam(policy.parameters(), lr=settings.learning_rate)

    def update(self, hands: Hands, group_size: int) -> None:
        """Goes through the hands ``epochs`` times."""
        advantages = torch.as_tensor(group_advantages(hands.returns, group_size), dtype=torch.float32)[hands.hand]
        with torch.no_grad():
            reference = _chosen(self._reference, hands)
        for _ in range(self._settings.epochs):
            loss = self._loss(hands, advantages, reference)
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self._policy.parameters(), self._settings.max_grad_norm)
            self._optimiser.step()

    def _loss(self, hands: Hands, advantages: Tensor, reference: Tensor) -> Tensor:
        log_probs = _chosen(self._policy, hands)
        gains = clipped_objective((log_probs - hands.log_probs).exp(), advantages, self._settings.clip)
        return (self._settings.kl_weight * distance(log_probs, reference) - gains).mean()


def _chosen(policy: Policy, hands: Hands) -> Tensor:
    log_probs: Tensor = policy(hands.features)
    return log_probs.gather(1, hands.actions[:, None]).squeeze(1)
