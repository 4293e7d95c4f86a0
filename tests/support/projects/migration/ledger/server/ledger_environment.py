"""A ledger whose entries are written by tools."""

from typing import Any
from uuid import uuid4

from fastmcp import FastMCP
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.types import Action, Observation, State


class LedgerEnvironment(MCPEnvironment):
    """Entries that are to come to nothing in sum."""

    SUPPORTS_CONCURRENT_SESSIONS: bool = True

    def __init__(self) -> None:
        mcp = FastMCP("ledger")
        self._entries: list[tuple[str, int]] = []

        @mcp.tool
        def enter(text: str, amount: int = 1) -> int:
            """Writes an entry.

            Args:
                text: What it is for.
                amount: What it comes to.
            """
            self._entries.append((text, amount))
            return sum(entry for _, entry in self._entries)

        @mcp.tool
        def look() -> dict[str, Any]:
            """Shows all entries."""
            return {"entries": [list(entry) for entry in self._entries], "count": len(self._entries)}

        @mcp.tool
        async def strike(number: int) -> str:
            """Strikes an entry out."""
            if not 0 <= number < len(self._entries):
                raise ValueError(f"There is no entry {number}.")
            return self._entries.pop(number)[0]

        super().__init__(mcp)
        self._state = State(episode_id=str(uuid4()), step_count=0)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Observation:
        """Begins an empty ledger; a seed is its first entry."""
        self._entries[:] = [] if seed is None else [("carried over", seed)]
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0)
        return Observation(done=False, reward=0.0, metadata={"entries": len(self._entries)})

    def _step_impl(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        return Observation(done=False, reward=0.0, metadata={"error": f"{type(action).__name__} is no tool's."})

    def step(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """Counts, and lets the tools answer."""
        self._state.step_count += 1
        return super().step(action, timeout_s=timeout_s, **kwargs)

    async def step_async(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """As ``step``, where the server awaits it."""
        self._state.step_count += 1
        return await super().step_async(action, timeout_s=timeout_s, **kwargs)

    @property
    def state(self) -> State:
        """The episode's name and its steps."""
        return self._state
