"""Typed Python functions as tools: their schema and their call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.tools import RESERVED_TOOL_NAMES, Tool, ToolError, ToolErrorType
from pydantic import PydanticUserError, TypeAdapter, ValidationError

from openenv_gym_server.docstrings import read_docstring
from openenv_gym_server.tool_results import result_object

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

# openenv sorts faults by words in their text, and these are the two kinds whose text says "argument". An argument of
# a wrong type is an execution_error there, and so it is here: clients decide by it.
_INVALID_ARGS = {"missing_argument", "unexpected_keyword_argument"}


class ToolFailed(Exception):
    """A call that has an error in place of a result.

    Attributes:
        error: The error as the wire carries it.
        is_tools_fault: Whether the tool's own code is to blame, rather than the arguments.
    """

    def __init__(self, error_type: ToolErrorType, message: str, *, is_tools_fault: bool = False) -> None:
        super().__init__(message)
        self.error = ToolError(error_type=error_type, message=message)
        self.is_tools_fault = is_tools_fault


class OfferedTool(Protocol):
    """A tool, wherever it comes from."""

    tool: Tool
    is_async: bool

    def start(self, arguments: dict[str, Any]) -> Any:
        """Calls it; gives its value, or an awaitable of it."""

    def result(self, value: Any) -> dict[str, Any]:
        """The value as the wire carries it."""


class _Raised(Exception):
    """Carries an exception of the function itself past the validation of its arguments."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


class ToolFunction:
    """One Python function as a tool.

    The parameters' annotations and defaults are the schema; the docstring is the description, and its ``Args:`` section
    describes the parameters. Arguments are checked and converted by pydantic, in its lax mode.

    Attributes:
        tool: Name, description and input schema, as they travel.
        is_async: Calling it gives an awaitable.
    """

    def __init__(self, function: Callable[..., Any], *, name: str | None = None) -> None:
        """Reads a function.

        Args:
            function: A function or bound method, plain or a coroutine function, whose parameters are annotated and
                passed by name.
            name: The tool's name; by default the function's.

        Raises:
            ConfigurationError: The name is reserved, the function takes what cannot be passed by name, or an
                annotation has no JSON Schema.
        """
        name = name or function.__name__
        check_tool_name(name)
        _check(function, name)
        description, parameters = read_docstring(inspect.getdoc(function) or "")
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(_guarded(function))
            schema = self._adapter.json_schema()
        except (PydanticUserError, NameError) as error:
            raise ConfigurationError(f"Tool {name!r} has a parameter without a JSON Schema: {error}") from error
        self.tool = Tool(name=name, description=description, input_schema=_told(schema, parameters))
        self.is_async = inspect.iscoroutinefunction(function)

    def start(self, arguments: dict[str, Any]) -> Any:
        """Calls the function.

        Args:
            arguments: The arguments by name.

        Returns:
            What it returned, or an awaitable of it.

        Raises:
            ToolFailed: The arguments do not fit.
            Exception: What the function raised.
        """
        try:
            return self._adapter.validate_python(arguments)
        except ValidationError as error:
            raise wrong_arguments(error, self.tool.name) from error
        except _Raised as error:
            raise error.cause from None

    def result(self, value: Any) -> dict[str, Any]:
        """What the function returned, as the wire carries it; see ``result_object``."""
        return result_object(value)


def wrong_arguments(error: ValidationError, name: str) -> ToolFailed:
    """Why a tool was not called whose arguments do not fit."""
    faulty = {fault["type"] for fault in error.errors(include_url=False, include_input=False)}
    kind = ToolErrorType.INVALID_ARGS if faulty & _INVALID_ARGS else ToolErrorType.EXECUTION_ERROR
    return ToolFailed(kind, _titled(error, name))


def check_tool_name(name: str) -> None:
    """Keeps the trainer's controls out of the agent's reach.

    Raises:
        ConfigurationError: The name is reserved.
    """
    if name in RESERVED_TOOL_NAMES:
        reserved = ", ".join(sorted(RESERVED_TOOL_NAMES))
        raise ConfigurationError(f"A tool cannot be called {name!r}: {reserved} belong to the trainer. Rename it.")


def _check(function: Callable[..., Any], name: str) -> None:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _BY_NAME:
            raise ConfigurationError(f"Tool {name!r} cannot take {parameter}: arguments of a tool are passed by name.")


def _guarded(function: Callable[..., Any]) -> Any:
    """The function with its exceptions marked as its own, and its signature kept for pydantic to read."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            # A ValidationError of the function's own must not be read as one about its arguments.
            raise _Raised(error) from error

    call.__annotations__ = getattr(function, "__annotations__", {})  # a builtin has none, and must not get ours
    return call


def _titled(error: ValidationError, name: str) -> str:
    """The text of a validation error, with the tool's name in the place of the function's."""
    first, _, rest = str(error).partition("\n")
    return f"{first.rpartition(' for ')[0]} for call[{name}]\n{rest}"


def _told(schema: dict[str, Any], descriptions: dict[str, str]) -> dict[str, Any]:
    """The schema as tools tell it: definitions in their place, no titles, parameters with their descriptions."""
    plain: dict[str, Any] = _inlined(schema, schema.get("$defs", {}), ())
    plain.pop("$defs", None)
    for name, text in descriptions.items():
        if name in plain["properties"]:
            plain["properties"][name].setdefault("description", text)
    return plain


def _inlined(node: Any, definitions: dict[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_inlined(entry, definitions, inside) for entry in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = str(node["$ref"]).rpartition("/")[2]
        if name in inside:
            return {"type": "object"}  # a model that holds itself: said loosely, checked exactly
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _inlined({**definitions[name], **beside}, definitions, (*inside, name))
    return {
        # Below "properties" the keys are names, and one of them may be "title".
        key: {name: _inlined(entry, definitions, inside) for name, entry in value.items()}
        if key == "properties"
        else _inlined(value, definitions, inside)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str))
    }
