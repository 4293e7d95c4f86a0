"""Typed functions as tools: schemas, calls and results as openenv with FastMCP sends them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_server.tool_functions import ToolFailed, ToolFunction
from pydantic import BaseModel, Field, ValidationError


class Point(BaseModel):
    x: int = 1
    title: str = "a"


class Tree(BaseModel):
    children: list[Tree] = []


def draw(  # noqa: D417 - some parameters are not described on purpose
    where: Point,
    color: Literal["red", "blue"] = "red",
    size: Annotated[int, Field(ge=0, le=3, description="from the annotation")] = 2,
    path: list[Point] | None = None,
) -> str:
    """Draws.

    Args:
        where: The place.
        size: Not used.
    """
    return f"{where.x} {color} {size} {path}"


def test_the_schema_is_plain_closed_and_described() -> None:
    tool = ToolFunction(draw).tool
    point = {
        "properties": {"x": {"default": 1, "type": "integer"}, "title": {"default": "a", "type": "string"}},
        "type": "object",
    }
    assert (tool.name, tool.description) == ("draw", "Draws.")
    assert tool.input_schema == {
        "additionalProperties": False,
        "properties": {
            "where": {**point, "description": "The place."},
            "color": {"default": "red", "enum": ["red", "blue"], "type": "string"},
            "size": {
                "default": 2,
                "description": "from the annotation",
                "maximum": 3,
                "minimum": 0,
                "type": "integer",
            },
            "path": {"anyOf": [{"items": point, "type": "array"}, {"type": "null"}], "default": None},
        },
        "required": ["where"],
        "type": "object",
    }
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)


def test_a_model_that_holds_itself_has_a_finite_schema_and_is_checked_whole() -> None:
    def count(tree: Tree) -> int:
        return len(tree.children)

    function = ToolFunction(count)
    jsonschema.Draft202012Validator.check_schema(function.tool.input_schema)
    assert "$ref" not in str(function.tool.input_schema)
    assert function.start({"tree": {"children": [{}, {}]}}) == 2
    with pytest.raises(ToolFailed):
        function.start({"tree": {"children": [{"children": 3}]}})


def test_a_tool_without_a_docstring_has_an_empty_description() -> None:
    assert ToolFunction(lambda: 1, name="one").tool.description == ""


def test_a_bound_method_is_a_tool_without_self() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def add(self, by: int) -> int:
            self.count += by
            return self.count

    counter = Counter()
    function = ToolFunction(counter.add)
    assert list(function.tool.input_schema["properties"]) == ["by"]
    assert function.start({"by": 2}) == function.start({"by": "0"}) == 2


def echo(message: str) -> str:
    return message


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({}, "invalid_args", "1 validation error for call[echo]\nmessage\n  Missing required argument"),
        ({"message": "a", "b": 1}, "invalid_args", "1 validation error for call[echo]\nb\n  Unexpected keyword"),
        ({"b": 1}, "invalid_args", "2 validation errors for call[echo]\nmessage\n"),
        ({"message": 3}, "execution_error", "1 validation error for call[echo]\nmessage\n  Input should be a valid"),
        ({"message": None}, "execution_error", "1 validation error for call[echo]\nmessage\n"),
    ],
)
def test_arguments_that_do_not_fit_are_told_as_openenv_tells_them(
    arguments: dict[str, Any], kind: str, says: str
) -> None:
    with pytest.raises(ToolFailed) as caught:
        ToolFunction(echo).start(arguments)
    assert caught.value.error.error_type == kind
    assert caught.value.error.message.startswith(says)


def test_what_the_function_raises_comes_out_as_it_is() -> None:
    def boom() -> str:
        raise ValueError("tool exploded")

    def parse() -> int:
        return Point.model_validate({"x": "no"}).x

    with pytest.raises(ValueError, match="tool exploded"):
        ToolFunction(boom).start({})
    with pytest.raises(ValidationError):
        ToolFunction(parse).start({})


def test_a_coroutine_function_gives_an_awaitable_of_its_value() -> None:
    async def later(message: str) -> str:
        """Waits."""
        return message

    function = ToolFunction(later)
    assert (function.is_async, function.tool.description) == (True, "Waits.")
    assert function.tool.input_schema["required"] == ["message"]
    assert asyncio.run(function.start({"message": "a"})) == "a"
    with pytest.raises(ToolFailed):
        function.start({"message": 3})


@pytest.mark.parametrize("name", ["reset", "step", "state", "close"])
def test_the_trainers_controls_are_no_names_of_tools(name: str) -> None:
    with pytest.raises(ConfigurationError, match="trainer"):
        ToolFunction(echo, name=name)


def test_functions_that_cannot_be_tools_are_refused_with_the_reason() -> None:
    def any_number(*messages: str) -> str:
        return messages[0]

    def by_place(message: str, /) -> str:
        return message

    def strange(message: Any, how: Opaque) -> str:
        return str(message)

    def nameless(message: Undefined) -> str:  # type: ignore[name-defined]  # noqa: F821
        return str(message)

    refused: list[tuple[Callable[..., Any], str]] = [
        (any_number, "by name"),
        (by_place, "by name"),
        (strange, "JSON Schema"),
        (nameless, "JSON Schema"),
    ]
    for function, reason in refused:
        with pytest.raises(ConfigurationError, match=reason):
            ToolFunction(function)


class Opaque:
    """Nothing that pydantic could describe."""
