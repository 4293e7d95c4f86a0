"""An environment that can be rendered, and whose attributes clients may read, set and call."""

from __future__ import annotations

from typing import Any

import numpy as np
from openenv_gym_server import Action, Environment, Observation, State, create_app
from pydantic import Field


class Press(Action):
    button: int = Field(default=0, ge=0, le=1)


class Seen(Observation):
    level: int = Field(default=0, ge=0, le=255)


class Pictured(Environment[Press, Seen, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    render_modes = ("rgb_array", "ansi")
    remote_names = ("gravity", "weigh", "shape")

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self.gravity: Any = 9.8
        self.shape = np.arange(6, dtype=np.int16).reshape(2, 3)
        self.secret = "not for clients"

    def weigh(self, mass: float, *, factor: float = 1.0) -> float:
        """A weight."""
        if mass < 0:
            raise ValueError("a negative mass")
        return mass * factor * float(self.gravity)

    def reset(self, seed: int | None = None) -> Seen:
        self._state = State()
        return Seen()

    def step(self, action: Press) -> Seen:
        self._state.step_count += action.button
        return Seen(level=self._state.step_count, reward=0.0)

    def render(self, mode: str) -> Any:
        level = self._state.step_count
        return f"level {level}" if mode == "ansi" else np.full((4, 6, 3), level, np.uint8)

    @property
    def state(self) -> State:
        return self._state


app = create_app(Pictured, Press, Seen, env_name="pictured")
