"""Tools as actions and observations of the standard wire (OpenEnv's Gym-style use of MCP)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from openenv_gym_protocol.models import Action, Observation

RESERVED_TOOL_NAMES = frozenset({"reset", "step", "state", "close"})
"""Names that no tool may have: an agent must not reach the trainer's controls."""


class Tool(BaseModel):
    """One tool. Its schema is ``input_schema`` here and ``inputSchema`` in JSON-RPC."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str = Field(description="Always a string: stock clients drop the whole list on null")
    input_schema: dict[str, Any]


def function_schema(tool: Tool) -> dict[str, Any]:
    """A tool in the function format that OpenAI's API and the chat templates of transformers take in ``tools=``."""
    parameters = {"type": "object", "properties": {}, **tool.input_schema}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


class ToolErrorType(StrEnum):
    """Why a tool call failed before or instead of the tool's own answer."""

    EXECUTION_ERROR = "execution_error"
    INVALID_ARGS = "invalid_args"
    TRANSPORT_ERROR = "transport_error"
    TOOL_NOT_FOUND = "tool_not_found"
    TIMEOUT = "timeout"


class ToolError(BaseModel):
    """A failed tool call."""

    model_config = ConfigDict(extra="forbid")

    error_type: ToolErrorType
    message: str


class ListToolsAction(Action):
    """Asks for the list of tools; allowed before any reset."""

    type: Literal["list_tools"] = "list_tools"


class CallToolAction(Action):
    """Calls one tool."""

    type: Literal["call_tool"] = "call_tool"
    tool_name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class ListToolsObservation(Observation):
    """The list of tools."""

    tools: list[Tool]


class CallToolObservation(Observation):
    """A tool's result, or why there is none."""

    tool_name: str
    result: Any = None
    error: ToolError | None = None
