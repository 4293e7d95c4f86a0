"""The bundled blackjack plays exactly as Gymnasium's Blackjack-v1."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from blackjack_env.environment import BlackjackEnvironment
from blackjack_env.models import BlackjackAction
from pydantic import ValidationError

Event = tuple[tuple[int, ...], float | None, bool]

RULES: list[dict[str, bool]] = [{}, {"sab": False}, {"natural": True}, {"natural": True, "sab": False}]


def plays_locally(seed: int, episodes: int, rules: dict[str, bool]) -> list[Event]:
    """Plays the seeded episode and the unseeded ones after it with Gymnasium's own environment."""
    chooses = np.random.default_rng(seed)
    env = gymnasium.make("Blackjack-v1", disable_env_checker=True, **rules)
    events: list[Event] = []
    for episode in range(episodes):
        hand, _ = env.reset(seed=seed if episode == 0 else None)
        events.append((tuple(hand), None, False))
        over = False
        while not over:
            hand, reward, over, _, _ = env.step(int(chooses.integers(2)))
            events.append((tuple(hand), float(reward), over))
    env.close()
    return events


def plays_ours(seed: int, episodes: int, rules: dict[str, bool]) -> list[Event]:
    """Plays the same with the bundled environment."""
    chooses = np.random.default_rng(seed)
    environment = BlackjackEnvironment()
    events: list[Event] = []
    for episode in range(episodes):
        seen = environment.reset(seed if episode == 0 else None, None, **rules)
        events.append((seen.hand, seen.reward, seen.done))
        while not seen.done:
            seen = environment.step(BlackjackAction(action=int(chooses.integers(2))))
            assert seen.reward is not None
            events.append((seen.hand, float(seen.reward), seen.done))
    return events


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_every_trajectory_equals_gymnasiums_through_unseeded_resets_too(rules: dict[str, bool]) -> None:
    rewards: set[float | None] = set()
    for seed in range(300):
        expected = plays_locally(seed, 10, rules)
        assert plays_ours(seed, 10, rules) == expected, f"seed {seed}"
        rewards |= {reward for _, reward, _ in expected}
    assert {-1.0, 0.0, 1.0} <= rewards
    assert (1.5 in rewards) == (rules == {"natural": True, "sab": False}), (
        "the seeds must reach the rule they are there for"
    )


def test_large_seeds_are_gymnasiums_as_well() -> None:
    for seed in (2**31 - 1, 2**32, 2**63, 2**100):
        assert plays_ours(seed, 5, {}) == plays_locally(seed, 5, {})


def test_the_declared_spaces_are_gymnasiums_own() -> None:
    from openenv_gym_protocol.gymnasium_spaces import data_to_space

    local = gymnasium.make("Blackjack-v1")
    assert BlackjackEnvironment.spaces is not None
    assert data_to_space(BlackjackEnvironment.spaces["action"]) == local.action_space
    assert data_to_space(BlackjackEnvironment.spaces["observation"]) == local.observation_space


def test_an_environment_never_seeded_differs_from_the_next() -> None:
    def first_hands() -> list[Any]:
        environment = BlackjackEnvironment()
        return [environment.reset().hand for _ in range(20)]

    assert first_hands() != first_hands()


def test_the_state_shows_the_table_and_counts_steps() -> None:
    environment = BlackjackEnvironment()
    seen = environment.reset(seed=1, episode_id="mine", natural=True, sab=False)
    state = environment.state
    assert (state.episode_id, state.step_count, state.natural, state.sab) == ("mine", 0, True, False)
    assert len(state.player) == len(state.dealer) == 2
    assert seen.hand[1] == state.dealer[0]
    environment.step(BlackjackAction(action=0))
    assert environment.state.step_count == 1


def test_a_step_without_an_episode_says_to_reset() -> None:
    environment = BlackjackEnvironment()
    with pytest.raises(RuntimeError, match="reset first"):
        environment.step(BlackjackAction(action=1))
    environment.reset(seed=0)
    environment.step(BlackjackAction(action=0))
    with pytest.raises(RuntimeError, match="reset first"):
        environment.step(BlackjackAction(action=0))


@pytest.mark.parametrize("action", [-1, 2, "hit", None, 0.5])
def test_an_action_that_is_neither_stick_nor_hit_is_refused(action: Any) -> None:
    with pytest.raises(ValidationError):
        BlackjackAction(action=action)
