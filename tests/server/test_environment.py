from __future__ import annotations

import asyncio
from typing import Any

from openenv_gym_server import Action, Environment, Observation, State, truncated


class Doubling:
    """Rewards twice; counts its resets."""

    def __init__(self) -> None:
        self.resets = 0

    def __call__(self, action: Action, observation: Observation) -> float:
        return 2.0

    def reset(self) -> None:
        self.resets += 1


class Rewarded(Environment[Action, Observation, State]):
    def reset(self, seed: int | None = None, episode_id: str | None = None) -> Observation:
        self._reset_rubric()
        return self._apply_transform(Observation(metadata={"seed": seed}))

    def step(self, action: Action, timeout_s: float | None = None) -> Observation:
        observation = Observation()
        observation.reward = self._apply_rubric(action, observation)
        return observation

    @property
    def state(self) -> State:
        return State()


def test_a_rubric_rewards_and_is_reset() -> None:
    rubric = Doubling()
    environment = Rewarded(rubric=rubric)
    environment.reset()
    assert environment.step(Action()).reward == 2.0
    assert rubric.resets == 1


def test_without_a_rubric_the_reward_is_zero() -> None:
    assert Rewarded().step(Action()).reward == 0.0


def test_a_transform_changes_observations() -> None:
    def mark(observation: Any) -> Any:
        observation.metadata["marked"] = True
        return observation

    assert Rewarded(transform=mark).reset().metadata["marked"]


def test_the_awaiting_forms_call_the_plain_ones() -> None:
    environment = Rewarded(rubric=Doubling())
    assert asyncio.run(environment.reset_async(seed=3)).metadata == {"seed": 3}
    assert asyncio.run(environment.step_async(Action())).reward == 2.0


def test_an_awaiting_rubric_is_awaited() -> None:
    class Awaiting(Doubling):
        async def __call__(self, action: Action, observation: Observation) -> float:  # type: ignore[override]
            return 3.0

    environment = Rewarded(rubric=Awaiting())
    assert asyncio.run(environment._apply_rubric_async(Action(), Observation())) == 3.0


def test_truncated_ends_the_episode_and_says_why() -> None:
    observation = truncated(Observation(metadata={"level": 1}))
    assert observation.done
    assert observation.metadata == {"level": 1, "truncated": True}


def test_metadata_is_derived_from_the_class() -> None:
    metadata = Rewarded().get_metadata()
    assert (metadata.name, metadata.description, metadata.version) == ("Rewarded", "Rewarded environment", "1.0.0")
