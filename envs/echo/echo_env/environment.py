"""An environment of two tools that repeat what they are told."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import uuid4

from openenv_gym_protocol.models import Action, Observation, State
from openenv_gym_server.mcp import MCPEnvironment

READY = "Echo environment ready!"


class EchoEnvironment(MCPEnvironment):
    """Repeats messages. Nothing is random, no step has a reward, and no episode ends.

    The docstrings of the tools travel as their descriptions, word for word those of openenv's echo environment.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "inline"  # a call takes microseconds
    seeded_stream = True
    info_keys: ClassVar[list[str] | None] = ["status", "message"]  # only a reset sets them
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {
            "type": "Dict",
            "spaces": {
                "tool_name": {"type": "UnicodeText", "max_length": 64},
                "arguments": {
                    "type": "Dict",
                    "spaces": {"message": {"type": "UnicodeText", "max_length": 4096}},
                },
            },
        },
        "observation": {
            "type": "Dict",
            "spaces": {
                "result": {"type": "JsonText", "max_length": 65536},
                "error": {"type": "JsonText", "max_length": 65536},
            },
        },
    }

    def __init__(self) -> None:
        super().__init__([self.echo_message, self.echo_with_length])
        self._state = State(episode_id=str(uuid4()))

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Observation:
        """Starts counting steps anew."""
        self._state = State(episode_id=episode_id or str(uuid4()))
        return Observation(reward=0.0, metadata={"status": "ready", "message": READY})

    def step(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
        """Lists or calls the tools; both count as steps."""
        self._state.step_count += 1
        return super().step(action, timeout_s=timeout_s, **options)

    @property
    def state(self) -> State:
        """The episode's name and its number of steps."""
        return self._state

    def echo_message(self, message: str) -> str:
        """Echo back the provided message.

        Args:
            message: The message to echo back

        Returns:
            The same message.
        """
        return message

    def echo_with_length(self, message: str) -> dict[str, Any]:
        """Echo back the message with its length.

        Args:
            message: The message to echo back

        Returns:
            The message, and its length in characters.
        """
        return {"message": message, "length": len(message)}
