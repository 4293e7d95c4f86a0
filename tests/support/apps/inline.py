"""An inline environment, whose steps run on the server's own event loop."""

from __future__ import annotations

import time
from typing import ClassVar

from openenv_gym_server import Action, Environment, Observation, State, create_app
from openenv_gym_server.environment import Execution


class Wait(Action):
    seconds: float = 0.0


class Waited(Observation):
    steps: int = 0


class InlineEnvironment(Environment[Wait, Waited, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    execution: ClassVar[Execution | None] = "inline"

    def __init__(self) -> None:
        super().__init__()
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None) -> Waited:
        self._state = State(episode_id=episode_id)
        return Waited()

    def step(self, action: Wait) -> Waited:
        time.sleep(action.seconds)
        self._state.step_count += 1
        return Waited(steps=self._state.step_count, reward=0.0)

    @property
    def state(self) -> State:
        return self._state


app = create_app(InlineEnvironment, Wait, Waited, env_name="inline")
