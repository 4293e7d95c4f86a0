"""Typed Python functions as tools: their schema, their call, and their result as the wire carries it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.json_codec import array_fallback
from openenv_gym_protocol.tools import RESERVED_TOOL_NAMES, Tool, ToolError, ToolErrorType
from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from openenv_gym_server.docstrings import read_docstring

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


class _Raised(Exception):
    """Carries an exception of the function itself past the validation of its arguments."""


class ToolFunction:
    """One Python function as a tool.

    The parameters' annotations and defaults are the schema; the docstring is the description, and its ``Args:`` section
    describes the parameters. Arguments are checked and converted by pydantic, in its lax mode.

    Attributes:
        tool: Name, description and input schema, as they travel.
    """

    def __init__(self, function: Callable[..., Any], *, name: str | None = None) -> None:
        """Reads a function.

        Args:
            function: A plain function or bound method whose parameters are annotated and passed by name.
            name: The tool's name; by default the function's.

        Raises:
            ConfigurationError: The name is reserved, the function is a coroutine function or takes what cannot be
                passed by name, or an annotation has no JSON Schema.
        """
        name = name or function.__name__
        _check(function, name)
        description, parameters = read_docstring(inspect.getdoc(function) or "")
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(_guarded(function))
            schema = self._adapter.json_schema()
        except (PydanticUserError, NameError) as error:
            raise ConfigurationError(f"Tool {name!r} has a parameter without a JSON Schema: {error}") from error
        self.tool = Tool(name=name, description=description, input_schema=_told(schema, parameters))

    def __call__(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Calls the function.

        Args:
            arguments: The arguments by name.

        Returns:
            The result object of the wire: ``content``, ``structured_content``, ``meta``, ``data``, ``is_error``.

        Raises:
            ToolFailed: The arguments do not fit, the function raised, or its value has no JSON form.
        """
        name = self.tool.name
        try:
            value = self._adapter.validate_python(arguments)
        except ValidationError as error:
            faulty = {fault["type"] for fault in error.errors(include_url=False, include_input=False)}
            kind = ToolErrorType.INVALID_ARGS if faulty & _INVALID_ARGS else ToolErrorType.EXECUTION_ERROR
            raise ToolFailed(kind, _titled(error, name)) from error
        except _Raised as error:
            text = f"Error calling tool {name!r}: {error.__cause__}"
            raise ToolFailed(ToolErrorType.EXECUTION_ERROR, text, is_tools_fault=True) from error.__cause__
        try:
            return result_object(value)
        except (PydanticSerializationError, TypeError, ValueError) as error:
            text = f"Tool {name!r} returned what JSON cannot carry: {error}"
            raise ToolFailed(ToolErrorType.EXECUTION_ERROR, text, is_tools_fault=True) from error


def result_object(value: Any) -> dict[str, Any]:
    """What a tool returned, as the wire carries it.

    Args:
        value: Any value with a JSON form: a model, a dataclass, a container, an array, a number, text or None.

    Returns:
        ``data`` is the plain value; ``content`` is the same as text for a language model, empty for None;
        ``structured_content`` is an object: the value itself, or ``{"result": value}`` where it is none.
    """
    data = to_jsonable_python(value, inf_nan_mode="null", fallback=array_fallback)
    is_object = isinstance(data, dict)
    return {
        "content": _content(data),
        "structured_content": data if is_object else {"result": data},
        "meta": None if is_object else {"fastmcp": {"wrap_result": True}},
        "data": data,
        "is_error": False,
    }


def _content(data: Any) -> list[dict[str, Any]]:
    if data is None:
        return []
    text = data if isinstance(data, str) else to_json(data).decode()
    return [{"type": "text", "text": text, "annotations": None, "meta": None}]


def _check(function: Callable[..., Any], name: str) -> None:
    if name in RESERVED_TOOL_NAMES:
        reserved = ", ".join(sorted(RESERVED_TOOL_NAMES))
        raise ConfigurationError(f"A tool cannot be called {name!r}: {reserved} belong to the trainer. Rename it.")
    if inspect.iscoroutinefunction(function):
        raise ConfigurationError(f"Tool {name!r} is a coroutine function; write it as a plain function.")
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
            raise _Raised from error

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
