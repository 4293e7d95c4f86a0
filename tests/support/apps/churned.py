"""Sessions that hold memory, and whose steps may outlast the server's patience: what is left behind would show."""

from __future__ import annotations

import time

from openenv_gym_server import CallToolAction, CallToolObservation, MCPEnvironment, Observation, create_app

HELD_BYTES = 200_000


class Held(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__([self.add, self.nap])
        self._held = bytearray(b"x" * HELD_BYTES)

    def add(self, a: int, b: int) -> int:
        return a + b

    def nap(self, seconds: float) -> str:
        time.sleep(seconds)
        return "awake"


app = create_app(Held, CallToolAction, CallToolObservation, reset_observation_cls=Observation, env_name="held")
