"""The rules of blackjack as Gymnasium's Blackjack-v1 plays it, draw for draw."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
from openenv_gym_server.environment import Environment

from blackjack_env.models import BlackjackAction, BlackjackObservation, BlackjackState

# An infinite deck: each of these is drawn with equal chance, ten, jack, queen and king all counting ten.
_DECK = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)
_SUITS = 4
_COURT_CARDS = 3


class BlackjackEnvironment(Environment[BlackjackAction, BlackjackObservation, BlackjackState]):
    """One player against the dealer.

    The random numbers are those of Gymnasium: the same seed and actions give the same cards, and an unseeded reset
    goes on in the same stream.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "inline"  # a step takes microseconds
    seeded_stream = True
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "Discrete", "n": 2, "start": 0},
        "observation": {
            "type": "Tuple",
            "spaces": [
                {"type": "Discrete", "n": 32, "start": 0},
                {"type": "Discrete", "n": 11, "start": 0},
                {"type": "Discrete", "n": 2, "start": 0},
            ],
        },
    }
    info_keys: ClassVar[list[str] | None] = []

    def __init__(self) -> None:
        super().__init__()
        self._random: np.random.Generator | None = None
        self._state = BlackjackState()
        self._over = True

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        natural: bool = False,
        sab: bool = True,
        **options: Any,
    ) -> BlackjackObservation:
        """Deals two cards to the dealer and two to the player.

        Args:
            seed: Starts the random numbers anew; without one they go on, or start from entropy the first time.
            episode_id: The episode's name; by default a random one.
            natural: A win by a natural, an ace and a ten, pays 1.5; needs ``sab=False``.
            sab: Sutton and Barto's rules: a natural wins unless the dealer has one too. ``natural`` is then ignored.
                They are on by default, because Gymnasium registers Blackjack-v1 with them.
            **options: None are known; the server tells clients which there are.
        """
        if seed is not None or self._random is None:
            self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        dealer = [self._draw(), self._draw()]
        player = [self._draw(), self._draw()]
        self._draw_picture(dealer[0])
        self._state = BlackjackState(
            episode_id=episode_id or str(uuid4()), player=player, dealer=dealer, natural=natural, sab=sab
        )
        self._over = False
        return self._observation()

    def step(self, action: BlackjackAction, timeout_s: float | None = None, **options: Any) -> BlackjackObservation:
        """Hits or sticks.

        Raises:
            RuntimeError: No episode is being played.
        """
        if self._over:
            raise RuntimeError("No episode is being played: reset first.")
        self._state.step_count += 1
        reward = self._hit() if action.action else self._stick()
        return self._observation(reward=reward)

    @property
    def state(self) -> BlackjackState:
        """The whole table."""
        return self._state

    def _hit(self) -> float:
        self._state.player.append(self._draw())
        self._over = _sum(self._state.player) > 21
        return -1.0 if self._over else 0.0

    def _stick(self) -> float:
        self._over = True
        player, dealer = self._state.player, self._state.dealer
        while _sum(dealer) < 17:
            dealer.append(self._draw())
        mine, theirs = _score(player), _score(dealer)
        reward = float(mine > theirs) - float(mine < theirs)
        if not _is_natural(player):
            return reward
        if self._state.sab:
            return reward if _is_natural(dealer) else 1.0
        return 1.5 if self._state.natural and reward == 1.0 else reward

    def _observation(self, reward: float | None = None) -> BlackjackObservation:
        player = self._state.player
        hand = (_sum(player), self._state.dealer[0], int(_counts_eleven(player)))
        return BlackjackObservation(hand=hand, reward=reward, done=self._over)

    def _draw(self) -> int:
        return _DECK[self._below(len(_DECK))]

    def _draw_picture(self, card: int) -> None:
        """Draws what Gymnasium draws to picture the dealer's open card, so that later draws stay the same."""
        self._below(_SUITS)
        if card == 10:
            self._below(_COURT_CARDS)

    def _below(self, limit: int) -> int:
        if self._random is None:  # reset makes it before anything draws
            raise RuntimeError("No episode is being played: reset first.")
        return int(self._random.integers(limit))


def _counts_eleven(cards: list[int]) -> bool:
    return 1 in cards and sum(cards) + 10 <= 21


def _sum(cards: list[int]) -> int:
    return sum(cards) + (10 if _counts_eleven(cards) else 0)


def _score(cards: list[int]) -> int:
    """The sum, or 0 for a hand over 21."""
    total = _sum(cards)
    return total if total <= 21 else 0


def _is_natural(cards: list[int]) -> bool:
    return sorted(cards) == [1, 10]
