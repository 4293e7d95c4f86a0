"""One FastMCP server's tools, behind openenv's environment and behind this project's; both are in this interpreter."""

from __future__ import annotations

from typing import Any

import openenv_gym_server as ours
from fastmcp import FastMCP
from fastmcp.utilities.types import Image
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import Action, Observation, State

tools = FastMCP("tools")


@tools.tool
def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


@tools.tool
async def later(message: str) -> str:
    """Waits.

    Args:
        message: What comes back.
    """
    return message


@tools.tool
def point() -> dict:
    """Says where."""
    return {"x": 1, "y": None}


@tools.tool
def nothing() -> None:
    """Does nothing."""


@tools.tool
def picture() -> Image:
    """Shows a picture."""
    return Image(data=b"\x89PNG", format="png")


@tools.tool
def boom() -> str:
    """Fails."""
    raise ValueError("tool exploded")


class Stock(MCPEnvironment):
    """openenv's."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__(tools)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Observation:
        return Observation()

    def _step_impl(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
        raise TypeError(type(action).__name__)

    @property
    def state(self) -> State:
        return State()


class Ours(ours.MCPEnvironment):
    """This project's."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__(tools)


stock_app = create_app(Stock, CallToolAction, CallToolObservation, env_name="tools", max_concurrent_envs=8)
our_app = ours.create_app(Ours, ours.CallToolAction, ours.CallToolObservation, env_name="tools")
