"""A typed environment whose spaces can be derived: integers and floats with bounds."""

from __future__ import annotations

from typing import Any

from openenv.core.env_server import Action, Environment, Observation, State, create_app
from pydantic import Field


class CounterAction(Action):
    """By how much to count on."""

    amount: int = Field(ge=0, le=3)


class CounterObservation(Observation):
    """The count, whole and as a part of the goal."""

    count: int = Field(default=0, ge=0, le=99)
    part: float = Field(default=0.0, ge=0.0, le=10.0)


class CounterEnvironment(Environment[CounterAction, CounterObservation, State]):
    """Counts to ten. The seed says where it starts."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State(episode_id=None, step_count=0)
        self._count = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, start: int = 0, **kwargs: Any) -> Any:
        """Goes back to the start."""
        self._state = State(episode_id=episode_id, step_count=0)
        self._count = start + (seed or 0) % 4
        return self._observation(0.0)

    def step(self, action: CounterAction, timeout_s: float | None = None, **kwargs: Any) -> Any:
        """Counts on."""
        self._state.step_count += 1
        self._count += action.amount
        return self._observation(action.amount / 2)

    def _observation(self, reward: float) -> Any:
        done = self._count >= 10
        return CounterObservation(count=self._count, part=self._count / 10, reward=reward, done=done)

    @property
    def state(self) -> State:
        """How many steps were taken."""
        return self._state


counter_app = create_app(
    CounterEnvironment, CounterAction, CounterObservation, env_name="counter", max_concurrent_envs=64
)
