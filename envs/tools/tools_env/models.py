"""What is said between an agent with tools and its trainer."""

from __future__ import annotations

from typing import Any

from openenv_gym_protocol.models import Observation
from openenv_gym_protocol.tools import CallToolAction, CallToolObservation, ListToolsAction, Tool, ToolError
from pydantic import Field

__all__ = [
    "CallToolAction",
    "CallToolObservation",
    "ListToolsAction",
    "TaskObservation",
    "Tool",
    "ToolError",
]


class TaskObservation(Observation):
    """The task, after a reset; in the place where a call has its result."""

    result: dict[str, Any] = Field(description='The task in words: {"data": {"task": "..."}}')
