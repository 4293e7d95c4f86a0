"""A counter that ends at 3, without declared spaces: the same as the scripted stock server of the bridge's tests."""

from __future__ import annotations

from openenv_gym_server import Action, Environment, Observation, State, create_app
from pydantic import Field


class Count(Action):
    value: int = Field(default=0, ge=0, le=9)


class Counted(Observation):
    value: int = Field(default=0, ge=0, le=9)


class Counter(Environment[Count, Counted, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self._resets = 0

    def reset(self, seed: int | None = None, resets: int = 1000) -> Counted:
        self._resets += 1
        if self._resets > resets:
            raise RuntimeError("no more resets")
        self._state = State()
        return Counted()

    def step(self, action: Count) -> Counted:
        self._state.step_count += 1
        count = self._state.step_count
        return Counted(value=count, reward=float(count), done=count == 3)

    @property
    def state(self) -> State:
        return self._state


app = create_app(Counter, Count, Counted, env_name="counter")
