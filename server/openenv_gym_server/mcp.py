"""Environments whose actions are tool calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.models import Action, Observation, State
from openenv_gym_protocol.tools import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    Tool,
    ToolError,
    ToolErrorType,
)

from openenv_gym_server.environment import Environment
from openenv_gym_server.tool_functions import ToolFailed, ToolFunction

logger = logging.getLogger(__name__)

_F = TypeVar("_F", bound=Callable[..., Any])


class MCPEnvironment(Environment[Action, Observation, State]):
    """An environment that offers tools: typed Python functions, listed and called as steps.

    ::

        class Calculator(MCPEnvironment):
            def __init__(self):
                super().__init__([self.add])

            def add(self, a: int, b: int) -> int:
                '''Adds two numbers.'''
                return a + b

    A subclass that counts or rewards its steps overrides ``step`` and calls ``super().step``.
    """

    def __init__(self, tools: Iterable[Callable[..., Any]] = ()) -> None:
        """Takes the tools that exist from the start; ``tool`` adds others.

        Raises:
            ConfigurationError: A function cannot be a tool; the message says which and why.
        """
        super().__init__()
        self._tools: dict[str, ToolFunction] = {}
        for function in tools:
            self.tool(function)

    def tool(self, function: _F) -> _F:
        """Adds a function as a tool; works as a decorator.

        Raises:
            ConfigurationError: The function cannot be a tool, or there is one of that name.
        """
        added = ToolFunction(function)
        if added.tool.name in self._tools:
            raise ConfigurationError(f"There is a tool called {added.tool.name!r} already.")
        self._tools[added.tool.name] = added
        return function

    @property
    def tools(self) -> list[Tool]:
        """The tools in the order in which they were added."""
        return [function.tool for function in self._tools.values()]

    def step(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
        """Lists or calls tools; any other action goes to ``_step_impl``."""
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=self.tools)
        if isinstance(action, CallToolAction):
            return self._call(action)
        return self._step_impl(action, timeout_s=timeout_s, **options)

    def _step_impl(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:  # noqa: ARG002
        """Takes an action that is no tool's. A subclass that has such actions overrides it."""
        raise TypeError(f"{type(self).__name__} takes tool actions only, not {type(action).__name__}.")

    def _call(self, action: CallToolAction) -> CallToolObservation:
        name = action.tool_name
        function = self._tools.get(name)
        if function is None:
            error = ToolError(error_type=ToolErrorType.TOOL_NOT_FOUND, message=f"Unknown tool: {name!r}")
            return CallToolObservation(tool_name=name, error=error)
        try:
            return CallToolObservation(tool_name=name, result=function(action.arguments))
        except ToolFailed as failed:
            if failed.is_tools_fault:
                logger.warning("tool %r failed", name, exc_info=failed.__cause__)
            return CallToolObservation(tool_name=name, error=failed.error)
