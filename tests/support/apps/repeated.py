"""An environment whose steps are all alike, until an action asks for something else.

TEST_PATIENCE is how long the server waits for the last lane before it answers in parts, and so in no known form: on a
machine that has much to do, its own two milliseconds are too short.
"""

from __future__ import annotations

import os
import time
from typing import Any, ClassVar

from openenv_gym_server import Action, Environment, Observation, State, create_app
from openenv_gym_server.vector import gathering, pending
from pydantic import Field

gathering.PATIENCE = pending.PATIENCE = float(os.environ.get("TEST_PATIENCE", pending.PATIENCE))  # type: ignore[attr-defined]

SLOW, STUCK, FAIL, INFINITE = 60, 61, 62, 63
"""Actions that take a tenth of a second, or six; that raise; whose reward is infinite, and sent as missing."""


class Press(Action):
    value: int = Field(default=0, ge=0, le=63)


class Seen(Observation):
    values: list[float] = Field(default_factory=lambda: [0.0, 0.0])


class Repeating(Environment[Press, Seen, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    seed_supported = True
    allow_nonfinite_reward = True
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "Discrete", "n": 64},
        "observation": {"type": "Box", "low": -1e9, "high": 1e9, "shape": [2], "dtype": "float32"},
    }

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._length = 100

    def reset(self, seed: int | None = None) -> Seen:
        self._count = 0
        self._length = 30 + (seed or 0) % 17
        return Seen()

    def step(self, action: Press) -> Seen:
        if action.value in (SLOW, STUCK):
            time.sleep(0.1 if action.value == SLOW else 6.0)
        if action.value == FAIL:
            raise RuntimeError("as it was asked to")
        self._count += 1
        reward = float("inf") if action.value == INFINITE else float(self._count)
        return Seen(values=[self._count, action.value], reward=reward, done=self._count == self._length)

    @property
    def state(self) -> State:
        return State(step_count=self._count)


app = create_app(Repeating, Press, Seen, env_name="repeating")
