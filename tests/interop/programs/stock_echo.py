"""The echo environment written with the stock ``openenv`` package and FastMCP, as its published one behaves.

It runs in a virtual environment that has ``openenv`` and not this project; the interop tests compare its frames with
those of ``envs/echo``. Serve it with ``uvicorn stock_echo:app``.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from fastmcp import FastMCP
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import Action, Observation, State

tools = FastMCP("echo_env")


# The docstrings are data here: they travel as the tools' descriptions, and ours must be the same.
@tools.tool
def echo_message(message: str) -> str:
    """Echo back the provided message.

    Args:
        message: The message to echo back

    Returns:
        The same message that was provided
    """
    return message


@tools.tool
def echo_with_length(message: str) -> dict:
    """Echo back the message with its length.

    Args:
        message: The message to echo back

    Returns:
        Dictionary with the message and its length
    """
    return {"message": message, "length": len(message)}


class StockEcho(MCPEnvironment):
    """Counts every action as a step and never ends an episode."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__(tools)
        self._state = State(episode_id=str(uuid4()), step_count=0)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Observation:
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0)
        return Observation(done=False, reward=0.0, metadata={"status": "ready", "message": "Echo environment ready!"})

    def step(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
        self._state.step_count += 1
        return super().step(action, timeout_s=timeout_s, **options)

    async def step_async(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
        self._state.step_count += 1
        return await super().step_async(action, timeout_s=timeout_s, **options)

    def _step_impl(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
        # The action class of the app admits tool actions only, so nothing arrives here over the wire.
        raise TypeError(f"not a tool action: {type(action).__name__}")

    @property
    def state(self) -> State:
        return self._state


app = create_app(
    StockEcho,
    CallToolAction,
    CallToolObservation,
    reset_observation_cls=Observation,
    env_name="echo_env",
    max_concurrent_envs=8,
)
