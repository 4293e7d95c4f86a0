"""An environment whose rewards are no numbers, unless the action is 1."""

from __future__ import annotations

from openenv_gym_server import Action, Environment, Observation, State, create_app
from pydantic import Field


class Choice(Action):
    choice: int = Field(ge=0, le=1)


class Count(Observation):
    count: int = Field(default=0, ge=0, le=100)


class Rewards(Environment[Choice, Count, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()

    def reset(self, seed: int | None = None) -> Count:
        self._state = State()
        return Count()

    def step(self, action: Choice) -> Count:
        self._state.step_count += 1
        reward = 1.0 if action.choice else float("nan") if self._state.step_count % 2 else float("inf")
        return Count(count=self._state.step_count, reward=reward)

    @property
    def state(self) -> State:
        return self._state


class AnyRewards(Rewards):
    """Declares that they are none."""

    allow_nonfinite_reward = True


app = create_app(Rewards, Choice, Count, env_name="rewards")
lenient = create_app(AnyRewards, Choice, Count, env_name="any rewards")
