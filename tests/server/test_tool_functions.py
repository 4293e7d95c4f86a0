"""Typed functions as tools: schemas, calls and results as openenv with FastMCP sends them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema
import numpy as np
import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_server.tool_functions import ToolFailed, ToolFunction, result_object
from pydantic import BaseModel, Field


class Point(BaseModel):
    x: int = 1
    title: str = "a"


class Tree(BaseModel):
    children: list[Tree] = []


@dataclass
class Size:
    width: int


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
    assert function({"tree": {"children": [{}, {}]}})["data"] == 2
    with pytest.raises(ToolFailed):
        function({"tree": {"children": [{"children": 3}]}})


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
    assert function({"by": 2})["data"] == function({"by": "0"})["data"] == 2


def test_an_object_is_its_own_structured_content() -> None:
    for value in ({"a": [1, None]}, {1: 2}, Point(), Size(3)):
        result = result_object(value)
        assert result["structured_content"] == result["data"]
        assert isinstance(result["data"], dict)
        assert result["meta"] is None
    assert result_object(Size(3))["content"] == [
        {"type": "text", "text": '{"width":3}', "annotations": None, "meta": None}
    ]


@pytest.mark.parametrize(
    ("value", "data", "text"),
    [
        (3, 3, "3"),
        (1.5, 1.5, "1.5"),
        (True, True, "true"),
        ("é \n", "é \n", "é \n"),
        ("", "", ""),
        ([1, 2], [1, 2], "[1,2]"),
        ((1, "a"), [1, "a"], '[1,"a"]'),
        ([Point()], [{"x": 1, "title": "a"}], '[{"x":1,"title":"a"}]'),
        (np.arange(3), [0, 1, 2], "[0,1,2]"),
    ],
)
def test_anything_else_is_wrapped(value: Any, data: Any, text: str) -> None:
    assert result_object(value) == {
        "content": [{"type": "text", "text": text, "annotations": None, "meta": None}],
        "structured_content": {"result": data},
        "meta": {"fastmcp": {"wrap_result": True}},
        "data": data,
        "is_error": False,
    }


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_nothing_has_no_content(value: Any) -> None:
    result = result_object(value)
    assert (result["content"], result["data"], result["structured_content"]) == ([], None, {"result": None})


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
        ToolFunction(echo)(arguments)
    assert caught.value.error.error_type == kind
    assert caught.value.error.message.startswith(says)


@pytest.mark.parametrize("text", ["tool exploded", "", "not found", "an invalid argument"])
def test_an_exception_of_the_tool_is_an_execution_error_whatever_its_words(text: str) -> None:
    def boom() -> str:
        raise ValueError(text)

    with pytest.raises(ToolFailed) as caught:
        ToolFunction(boom)({})
    assert caught.value.error.error_type == "execution_error"
    assert caught.value.error.message == f"Error calling tool 'boom': {text}"
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_validation_error_inside_the_tool_is_not_one_of_its_arguments() -> None:
    def parse() -> int:
        return Point.model_validate({"x": "no"}).x

    with pytest.raises(ToolFailed) as caught:
        ToolFunction(parse)({})
    assert caught.value.error.error_type == "execution_error"
    assert caught.value.error.message.startswith("Error calling tool 'parse': ")


def test_a_result_without_a_json_form_is_an_execution_error() -> None:
    with pytest.raises(ToolFailed, match="JSON") as caught:
        ToolFunction(object, name="thing")({})
    assert caught.value.error.error_type == "execution_error"


@pytest.mark.parametrize("name", ["reset", "step", "state", "close"])
def test_the_trainers_controls_are_no_names_of_tools(name: str) -> None:
    with pytest.raises(ConfigurationError, match="trainer"):
        ToolFunction(echo, name=name)


def test_functions_that_cannot_be_tools_are_refused_with_the_reason() -> None:
    async def later(message: str) -> str:
        return message

    def any_number(*messages: str) -> str:
        return messages[0]

    def by_place(message: str, /) -> str:
        return message

    def strange(message: Any, how: Opaque) -> str:
        return str(message)

    def nameless(message: Undefined) -> str:  # type: ignore[name-defined]  # noqa: F821
        return str(message)

    refused: list[tuple[Callable[..., Any], str]] = [
        (later, "coroutine"),
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
