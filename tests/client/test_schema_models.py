"""A model of an action that is made of a schema: as the environment's own would be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from openenv_gym_protocol.errors import UnsupportedSchema
from pydantic import ValidationError

from openenv_gym.client import GenericEnvClient
from openenv_gym.client.schema_models import SchemaAction, action_class_of
from tests.support.servers import ROOT, RunningServer, running_server

SCHEMA = {
    "title": "MoveAction",
    "type": "object",
    "required": ["to", "class"],
    "properties": {
        "to": {"enum": ["north", "south"]},
        "class": {"type": "integer"},
        "copy": {"type": "boolean", "default": False},
        "notes": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "path": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
        "metadata": {"type": "object", "additionalProperties": True},
        "whatever": {},
    },
    "$defs": {
        "Point": {
            "type": "object",
            "required": ["x"],
            "properties": {"x": {"type": "number"}, "next": {"$ref": "#/$defs/Point"}},
        }
    },
}


@pytest.fixture(scope="module")
def echo() -> Iterator[RunningServer]:
    with running_server("server.app:app", cwd=ROOT / "envs" / "echo") as server:
        yield server


def payload(action: SchemaAction) -> dict[str, Any]:
    return action.model_dump(by_alias=True, exclude_unset=True)


def test_the_fields_are_the_schemas_under_names_that_python_allows() -> None:
    made = action_class_of(SCHEMA)
    assert made.__name__ == "MoveAction"
    action = made(to="north", class_=3, copy_=True, path=[{"x": 1, "next": {"x": 2}}], whatever=object)
    assert payload(action) == {
        "to": "north",
        "class": 3,
        "copy": True,
        "path": [{"x": 1.0, "next": {"x": 2.0}}],
        "whatever": object,
    }
    assert payload(made(**{"to": "south", "class": 1})) == {"to": "south", "class": 1}


@pytest.mark.parametrize(
    "fields",
    [
        {"to": "north"},
        {"to": "up", "class": 1},
        {"to": "north", "class": "one"},
        {"to": "north", "class": 1, "too": 1},
        {"to": "north", "class": 1, "path": [{"y": 1}]},
    ],
)
def test_what_does_not_fit_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        action_class_of(SCHEMA)(**fields)


@pytest.mark.parametrize("schema", [{}, {"type": "integer"}, {"properties": None}])
def test_a_schema_without_fields_is_told(schema: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedSchema, match="dictionaries"):
        action_class_of(schema)


def test_an_environment_is_played_by_what_its_server_says(echo: RunningServer) -> None:
    with GenericEnvClient(echo.base_url).sync() as client:
        made = client.action_class()
        client.reset(seed=1)
        result = client.step(made(tool_name="echo_message", arguments={"message": "hello"}))
        assert "hello" in str(result.observation["result"])
        with pytest.raises(ValidationError, match="tool_nmae"):
            made(tool_nmae="echo_message")


def test_definitions_that_name_each_other_over_and_over_are_made_in_time() -> None:
    each = {f"field{number}": {"$ref": "#/$defs/Node"} for number in range(100)}
    node = {"type": "object", "properties": each}
    made = action_class_of({**node, "$defs": {"Node": node}})
    assert payload(made(field1={"field2": {}})) == {"field1": {"field2": {}}}


def test_keys_that_give_the_same_name_stay_two_fields() -> None:
    made = action_class_of({"properties": {"a-b": {"type": "integer"}, "a_b": {"type": "string"}, "a.b": {}}})
    assert payload(made(**{"a-b": 1, "a_b": "two", "a.b": 3})) == {"a-b": 1, "a_b": "two", "a.b": 3}


@pytest.mark.parametrize(
    "odd",
    [
        {"required": 5},
        {"$defs": 5},
        {"description": 5},
        {"title": 5},
        {"properties": {"a": {"enum": 5}}},
        {"properties": {"a": {"description": ["x"]}}},
        {"properties": {"a": {"type": ["integer", "null"]}}},
        {"properties": {"a": {"$ref": "#/$defs/Missing"}}},
        {"properties": {"a": 5}},
    ],
)
def test_what_is_odd_in_a_schema_is_passed_over(odd: dict[str, Any]) -> None:
    assert payload(action_class_of({"properties": {"a": {"type": "integer"}}, **odd})(a=1)) == {"a": 1}
