"""Environments of tools."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from openenv_gym_protocol.tools import CallToolAction, CallToolObservation, ListToolsAction, ListToolsObservation, Tool
from openenv_gym_server import Action, Environment, MCPEnvironment, Observation, State, ToolImage, create_app


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


class Counter(MCPEnvironment):
    """Counts to three: then the episode ends with the reward 1.0. Every other call is worth 0.5."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__([self.count, self.read_then_write, self.picture, self.fail, self.later])
        self.tool(self.hang, timeout_s=0.05)
        self.tool(lambda: "s", name="only_simulation", mode="simulation")
        self.tool(lambda: "p", name="only_production", mode="production")
        self.value = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Observation:
        self.value = 0
        return super().reset(seed, episode_id, **options)

    def count(self, by: int = 1) -> int:
        """Counts.

        Args:
            by: How far.
        """
        self.value += by
        if self.value == 3:
            self.end_episode(reward=1.0)
        return self.value

    def read_then_write(self) -> dict[str, int]:
        before = self.value
        time.sleep(0.002)  # another call in between would be lost
        self.value = before + 1
        return {"value": self.value}

    def picture(self) -> list[Any]:
        """Shows a picture."""
        return ["a dot", ToolImage(b"\x89PNG")]

    def fail(self) -> None:
        raise ValueError("tool exploded")

    async def later(self) -> str:
        await asyncio.sleep(0)
        return "later"

    async def hang(self) -> None:
        await asyncio.Event().wait()

    def _reward_of(self, action: CallToolAction, observation: CallToolObservation) -> float:
        return 0.5


class AsyncCounter(Counter):
    execution = "async"


class InlineCounter(Counter):
    execution = "inline"


class Handwritten(Environment[CallToolAction, CallToolObservation, State]):
    """Answers tool actions by itself."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, **options: Any) -> CallToolObservation:
        return CallToolObservation(tool_name="")

    def step(self, action: Action) -> Observation:  # type: ignore[override]
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=[Tool(name="greet", description="", input_schema={"type": "object"})])
        assert isinstance(action, CallToolAction)
        return CallToolObservation(tool_name=action.tool_name, result=f"Hello {action.arguments['name']}")

    @property
    def state(self) -> State:
        return State()


app = create_app(Adder, CallToolAction, CallToolObservation, env_name="tools")
base_action_app = create_app(Adder, Action, Observation, env_name="tools")
counter_app = create_app(Counter, CallToolAction, CallToolObservation, env_name="counter")
handwritten_app = create_app(Handwritten, CallToolAction, CallToolObservation, env_name="handwritten")
async_counter_app = create_app(AsyncCounter, CallToolAction, CallToolObservation, env_name="counter")
inline_counter_app = create_app(InlineCounter, CallToolAction, CallToolObservation, env_name="counter")


def _shop() -> Any:
    from mcp.server.mcpserver import MCPServer
    from mcp_types import ToolAnnotations

    server = MCPServer("shop")

    @server.tool(title="Price list", annotations=ToolAnnotations(read_only_hint=True))
    def price(item: str) -> int:
        return len(item)

    @server.tool()
    def fail() -> None:
        raise ValueError("sold out")

    return server


class Shop(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__(_shop())


served_app = create_app(Shop, CallToolAction, CallToolObservation, env_name="shop")
