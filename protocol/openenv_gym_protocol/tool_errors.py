"""Why a tool call has no result, as exceptions of a client.

::

    ToolCallError                     any of them; RuntimeErrors too, because openenv's client raises those
    ├── ToolRaised                      "environment": the tool's own code failed
    ├── ToolUnavailable                 "infrastructure": what the tool needs could not be reached
    ├── ToolTimeout                     "timeout": the tool was late
    ├── ToolNotFound                    "validation": there is no such tool
    └── InvalidToolArguments            "validation": the arguments do not fit; the tool was not called
"""

from __future__ import annotations

from openenv_gym_protocol.errors import (
    EnvironmentFailure,
    InfrastructureFailure,
    OpenEnvGymError,
    TimeoutFailure,
    ValidationFailure,
)
from openenv_gym_protocol.tools import ToolErrorType

__all__ = [
    "InvalidToolArguments",
    "ToolCallError",
    "ToolNotFound",
    "ToolRaised",
    "ToolTimeout",
    "ToolUnavailable",
]


class ToolCallError(OpenEnvGymError, RuntimeError):
    """A tool call has no result. The session goes on.

    Attributes:
        tool_name: The tool, where it is known.
    """

    def __init__(self, message: str, *, tool_name: str | None = None) -> None:
        super().__init__(message)
        self.tool_name = tool_name


class ToolRaised(ToolCallError, EnvironmentFailure):
    """The tool's own code failed, or an argument is of a wrong type."""


class ToolUnavailable(ToolCallError, InfrastructureFailure):
    """What the tool needs could not be reached."""


class ToolTimeout(ToolCallError, TimeoutFailure):
    """The tool did not answer within the time that its environment gives it."""


class ToolNotFound(ToolCallError, ValidationFailure):
    """There is no such tool."""


class InvalidToolArguments(ToolCallError, ValidationFailure):
    """An argument is missing or unknown; the tool was not called."""


_CLASSES: dict[ToolErrorType, type[ToolCallError]] = {
    ToolErrorType.EXECUTION_ERROR: ToolRaised,
    ToolErrorType.TRANSPORT_ERROR: ToolUnavailable,
    ToolErrorType.TIMEOUT: ToolTimeout,
    ToolErrorType.TOOL_NOT_FOUND: ToolNotFound,
    ToolErrorType.INVALID_ARGS: InvalidToolArguments,
}


def tool_error(error_type: str | None, message: str, tool_name: str) -> ToolCallError:
    """The exception for an error of the wire; of a kind that is not known, or not told, ``ToolRaised``."""
    known = {str(kind): found for kind, found in _CLASSES.items()}
    return known.get(error_type or "", ToolRaised)(f"Tool {tool_name!r} failed: {message}", tool_name=tool_name)
