"""The tools of one environment, by name and mode."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.tools import Tool, ToolErrorType

from openenv_gym_server.config import ServerMode
from openenv_gym_server.tool_functions import OfferedTool, ToolFailed


class Registered(NamedTuple):
    """A tool and how it is offered."""

    tool: OfferedTool
    timeout_s: float | None
    modes: frozenset[ServerMode]


class ToolRegistry:
    """Keeps tools in the order in which they were added."""

    def __init__(self) -> None:
        self._tools: list[Registered] = []

    def add(self, tool: OfferedTool, *, timeout_s: float | None = None, mode: str | None = None) -> None:
        """Adds a tool.

        Raises:
            ConfigurationError: There is one of that name in the same mode, or no such mode, or no such time-out.
        """
        modes = frozenset(ServerMode) if mode is None else frozenset({_mode(mode)})
        if timeout_s is not None and not timeout_s > 0:
            raise ConfigurationError(f"timeout_s of tool {tool.tool.name!r} must be positive, not {timeout_s!r}.")
        if any(each.tool.tool.name == tool.tool.name and each.modes & modes for each in self._tools):
            raise ConfigurationError(f"There is a tool called {tool.tool.name!r} already.")
        self._tools.append(Registered(tool, timeout_s, modes))

    def add_all(self, tools: Iterable[OfferedTool]) -> None:
        """Adds tools; as ``add``."""
        for tool in tools:
            self.add(tool)

    def clear(self) -> None:
        """Drops all tools."""
        self._tools.clear()

    def listed(self, mode: ServerMode) -> list[Tool]:
        """The tools of a mode, as they travel."""
        return [each.tool.tool for each in self._tools if mode in each.modes]

    def find(self, name: str, mode: ServerMode) -> Registered:
        """The tool of a name in a mode.

        Raises:
            ToolFailed: There is none.
        """
        for each in self._tools:
            if each.tool.tool.name == name and mode in each.modes:
                return each
        raise ToolFailed(ToolErrorType.TOOL_NOT_FOUND, f"Unknown tool: {name!r}")


def _mode(text: str) -> ServerMode:
    try:
        return ServerMode(text)
    except ValueError as error:
        raise ConfigurationError(f"A tool's mode is simulation or production, not {text!r}.") from error
