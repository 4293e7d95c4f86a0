"""What MCP's clients are told of a tool besides what OpenEnv's wire carries."""

from __future__ import annotations

from typing import Any, NamedTuple

from openenv_gym_protocol.tools import Tool
from pydantic import BaseModel, PrivateAttr


class Extras(NamedTuple):
    """What MCP tells of a tool besides what OpenEnv's wire carries.

    Attributes:
        title: Its name for people.
        annotations: Hints about what it does, as MCP names them.
    """

    title: str | None = None
    annotations: dict[str, Any] | None = None


class ExplainedTool(Tool):
    """A tool with extras, which are for MCP's clients alone: the standard wire carries it as any other."""

    _extras: Extras = PrivateAttr(default=Extras())

    @classmethod
    def of(cls, tool: Tool, extras: Extras) -> ExplainedTool:
        """A tool with its extras."""
        explained = cls(name=tool.name, description=tool.description, input_schema=tool.input_schema)
        explained._extras = extras
        return explained


def extras_of(tool: Tool) -> Extras:
    """A tool's extras; those of a tool of OpenEnv's wire are empty."""
    return tool._extras if isinstance(tool, ExplainedTool) else Extras()


def read_extras(told: Any) -> Extras:
    """The extras of a tool of an MCP server object, of whatever release.

    Args:
        told: An object with ``title`` and ``annotations``, a model or None.
    """
    annotations = getattr(told, "annotations", None)
    if isinstance(annotations, BaseModel):
        annotations = annotations.model_dump(by_alias=True, exclude_none=True)
    return Extras(getattr(told, "title", None), annotations or None)
