"""What a client of the echo environment sends and sees."""

from __future__ import annotations

from typing import Any

from openenv_gym_protocol.models import Action, Observation
from openenv_gym_protocol.tools import CallToolAction, ListToolsAction, Tool, ToolError
from pydantic import Field

__all__ = ["CallToolAction", "EchoAction", "EchoObservation", "EchoResult", "ListToolsAction", "Tool", "ToolError"]


class EchoAction(Action):
    """Says a message: short for a call of the tool ``echo_message``."""

    message: str


class EchoResult(dict[str, Any]):
    """A tool's result object. As text it is the plain value that the tool returned, ``result["data"]``."""

    def __str__(self) -> str:
        return str(self.get("data"))


class EchoObservation(Observation):
    """What came back.

    Attributes:
        echoed_message: The message that was repeated, or the server's greeting after a reset.
        message_length: Its length in characters; 0 after a reset.
        tool_name: The tool that was called, if any.
        result: The tool's result, an ``EchoResult``, or None.
        error: Why there is no result, or None.
        tools: The tools; empty where they were not asked for.
    """

    echoed_message: str | None = None
    message_length: int = 0
    tool_name: str | None = None
    result: Any = None
    error: ToolError | None = None
    tools: list[Tool] = Field(default_factory=list)
