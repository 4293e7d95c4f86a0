"""An environment of tools, reached as actions of step."""

from __future__ import annotations

from typing import Any

from openenv_gym_protocol.tools import CallToolAction, CallToolObservation
from openenv_gym_server import Action, MCPEnvironment, Observation, State, create_app


class Adder(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__([self.add])

    def add(self, a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    def reset(self, *args: Any, **options: Any) -> Observation:
        return Observation()

    @property
    def state(self) -> State:
        return State()


app = create_app(Adder, CallToolAction, CallToolObservation, env_name="tools")
base_action_app = create_app(Adder, Action, Observation, env_name="tools")
