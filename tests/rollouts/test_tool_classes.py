"""Classes made of tools: their names, annotations and docstrings, and what their calls send."""

from __future__ import annotations

import inspect
import time
import typing
from pathlib import Path
from typing import Any, Literal

import pytest

from openenv_gym.rollouts.annotations import annotation_of, described
from openenv_gym.rollouts.docstrings import read_description
from openenv_gym.rollouts.tool_classes import ToolSpec, action_tool, tool_class
from openenv_gym.rollouts.tool_names import argument_name, function_name

POINT = {
    "Point": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"]}
}


@pytest.mark.parametrize(
    ("schema", "annotation"),
    [
        ({"type": "string"}, str),
        ({"type": "integer"}, int),
        ({"type": "number"}, float),
        ({"type": "boolean"}, bool),
        ({"type": "null"}, type(None)),
        ({"enum": ["a", "b"]}, Literal["a", "b"]),
        ({"const": 3}, Literal[3]),
        ({"enum": [1.5, 2.5], "type": "number"}, float),
        ({"type": "array"}, list),
        ({"type": "array", "items": {"type": "integer"}}, list[int]),
        ({"type": "array", "items": {"type": "array", "items": {"enum": ["x"]}}}, list[list[Literal["x"]]]),
        ({"type": "object"}, dict),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, dict[str, int]),
        ({"$ref": "#/$defs/Point"}, dict),
        ({"allOf": [{"$ref": "#/$defs/Point"}]}, dict),
        ({"type": "array", "items": {"$ref": "#/$defs/Point"}}, list[dict]),  # type: ignore[type-arg]
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, str | None),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, str | int),
        ({"type": ["integer", "null"]}, int | None),
        ({"oneOf": [{"type": "string"}, {}]}, Any),
        ({}, Any),
        (True, Any),
        ({"$ref": "#/$defs/Nowhere"}, Any),
    ],
)
def test_a_schema_as_an_annotation(schema: Any, annotation: Any) -> None:
    assert annotation_of(schema, POINT) == annotation


def test_a_schema_that_is_recursive_ends() -> None:
    node = {"Node": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}
    assert typing.get_origin(annotation_of({"$ref": "#/$defs/Node"}, node)) is list
    loop = {"Loop": {"$ref": "#/$defs/Loop"}}
    assert annotation_of({"$ref": "#/$defs/Loop"}, loop) is Any


def test_what_an_annotation_cannot_say_is_described() -> None:
    assert described({"description": "How  far.\nIn metres.", "minimum": 0, "maximum": 9, "default": 3}) == (
        "How far. In metres. From 0 to 9. Default: 3."
    )
    assert described({"$ref": "#/$defs/Point"}, POINT) == "An object with x (number), y (number, optional)."


def test_names_become_names_of_pythons() -> None:
    assert function_name("my-tool.v2") == "my_tool_v2"
    assert function_name("class") == "class_tool"
    assert function_name("reset") == "reset_tool"
    assert function_name("__init__") == "init"
    assert function_name("_private") == "private"
    assert function_name("2048") == "tool_2048"
    assert function_name("日本") == "tool"
    assert function_name("add", {"add", "add_2"}) == "add_3"
    assert argument_name("from") == "from_"
    assert argument_name("self") == "self_"
    assert argument_name("a-b", {"a_b"}) == "a_b_2"


def test_a_class_has_one_function_for_each_tool_and_calls_it_by_its_own_names() -> None:
    calls: list[tuple[Any, str, dict[str, Any]]] = []

    def call(instance: Any, name: str, arguments: dict[str, Any]) -> str:
        calls.append((instance, name, arguments))
        return "answered"

    schema = {
        "properties": {
            "times": {"type": "integer", "default": 2, "maximum": 5},
            "from": {"type": "string", "description": "Where it begins."},
            "via": {"type": "array", "items": {"type": "string"}},
            "until": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["from"],
    }
    tools = [ToolSpec("go-to", "Goes.", schema), ToolSpec("go_to"), ToolSpec("get_reward"), ToolSpec("import")]
    made: Any = tool_class(tools, call, name="Walk")
    public = [name for name, _ in inspect.getmembers(made, inspect.isfunction)]
    assert sorted(public) == ["get_reward_tool", "go_to", "go_to_2", "import_tool"]
    assert made._tool_names["go_to"] == "go-to"
    instance = made()
    assert instance.go_to("here") == "answered"
    assert instance.go_to(from_="there", times=3, via=None, until=None) == "answered"
    instance.import_tool()
    assert calls == [
        (instance, "go-to", {"from": "here"}),
        (instance, "go-to", {"from": "there", "times": 3, "until": None}),
        (instance, "import", {}),
    ]
    with pytest.raises(TypeError, match="unexpected keyword argument 'tiems'"):
        instance.go_to("here", tiems=2)
    with pytest.raises(TypeError, match="missing a required argument"):
        instance.go_to()


def test_a_function_tells_what_it_takes() -> None:
    properties = {"word": {"type": "string"}, "loud": {"type": "boolean", "default": False, "description": "Shouts."}}
    description = (
        "Says a word.\n\nArgs:\n    word (str): What to say,\n        in one word.\n\nReturns:\n    It, again."
    )
    spec = ToolSpec("say", description, {"properties": properties, "required": ["word"]})
    made: Any = tool_class([spec], lambda *_: "")
    signature = inspect.signature(made().say)
    assert str(signature) == "(word: str, loud: bool = False) -> str"
    assert typing.get_type_hints(made.say) == {"word": str, "loud": bool, "return": str}
    assert inspect.getdoc(made.say) == (
        "Says a word.\n\n"
        "Args:\n    word: What to say, in one word.\n    loud: Shouts. Default: False.\n\n"
        "Returns:\n    What the environment answers, as text."
    )


def test_foreign_docstrings_are_read() -> None:
    text = read_description(
        "One.\nTwo.\n\nParameters:\n  *args: some\n  b (int, optional): the b: or not\nExample:\n  x: 1"
    )
    assert text.summary == "One.\nTwo."
    assert text.arguments == {"args": "some", "b": "the b: or not"}
    assert read_description("").summary == ""


def test_an_action_is_one_tool() -> None:
    schema = {
        "description": "One move.",
        "properties": {"metadata": {"type": "object"}, "by": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["by"],
    }
    made: Any = tool_class([action_tool(schema)], lambda *call: call[2])
    assert made().step(2) == {"by": 2}
    assert made().step(by=1, note="slow") == {"by": 1, "note": "slow"}
    assert made.step.__doc__.startswith("One move.\n")


def called(instance: Any, name: str, sent: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return name, sent


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": "xy"},
        {"properties": {"x": 5}, "required": 5},
        {"properties": {"x": {}}, "required": [["x"], {"x": 1}]},
        {"properties": {"x": {}}, "required": ["x", "x"]},
        {"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": 5},
        {"properties": {"x": {"type": "object", "properties": {"a": 5, "b": {"enum": 5}}, "required": True}}},
    ],
)
def test_a_schema_that_is_none_still_makes_a_function(schema: dict[str, Any]) -> None:
    function = tool_class([ToolSpec("t", schema=schema)], called)().t
    names = list(inspect.signature(function).parameters)
    assert names == [name for name in schema["properties"] if isinstance(schema["properties"], dict)]
    assert function(*names) == ("t", {name: name for name in names})
    assert action_tool(schema).name == "step"


def test_what_a_server_says_is_never_run(tmp_path: Path) -> None:
    code = f"__import__('pathlib').Path({str(tmp_path / 'run')!r}).touch()"
    told = {"type": code, "description": code, "enum": [code], "default": code, "title": f'"""\n{code}'}
    schema = {"properties": {code: told, "x": {"type": code}, "y": {"$ref": code}, "z": {"const": code}}}
    made = tool_class([ToolSpec(code, f'"""\n{code}\nArgs:\n    x: {code}', schema)], called)
    (function,) = made._tool_names
    typing.get_type_hints(getattr(made, function))
    assert getattr(made(), function)(x=1) == (code, {"x": 1})
    assert not (tmp_path / "run").exists()


def test_hostile_schemas_and_texts_take_no_time() -> None:
    began = time.thread_time()
    many = {"A": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/A"}}, *[{"$ref": "#/$defs/A"}] * 5]}}
    annotation_of({"$ref": "#/$defs/A"}, many)
    read_description("Args:\n x" + " " * 50_000 + "y")
    assert time.thread_time() - began < 5
