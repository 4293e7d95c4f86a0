"""References, arrays and defaults of JSON Schema."""

from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.errors import UnsupportedSchema
from openenv_gym_protocol.json_schema import (
    ABSENT,
    Definitions,
    combined,
    default_of,
    element_schemas,
    fixed_length,
)

ROOT: dict[str, Any] = {
    "$defs": {
        "A": {"type": "integer", "title": "A"},
        "B": {"$ref": "#/$defs/A", "minimum": 1},
        "Loop": {"$ref": "#/$defs/Loop"},
    },
    "type": "object",
}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"$ref": "#/$defs/A"}, {"type": "integer", "title": "A"}),
        ({"$ref": "#/$defs/A", "title": "mine"}, {"type": "integer", "title": "mine"}),
        ({"$ref": "#/$defs/B"}, {"type": "integer", "title": "A", "minimum": 1}),
        ({"allOf": [{"$ref": "#/$defs/A"}], "default": 3}, {"type": "integer", "title": "A", "default": 3}),
        ({"$ref": "#"}, ROOT),
        ({"type": "string"}, {"type": "string"}),
        (True, {}),
    ],
)
def test_references_are_followed(schema: Any, expected: dict[str, Any]) -> None:
    assert Definitions.of(ROOT).resolve(schema)[0] == expected


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#/$defs/C"}, {"$ref": "#/$defs/Loop"}, {"allOf": [{}, {}]}, {"not": {}}, {"if": {}}, 7, False],
    ids=str,
)
def test_what_cannot_be_followed_is_refused_with_the_name_of_the_field(schema: Any) -> None:
    with pytest.raises(UnsupportedSchema, match=r"position\.x"):
        Definitions.of(ROOT).at("position").at("x").resolve(schema)


@pytest.mark.parametrize(
    ("schema", "length"),
    [
        ({"minItems": 3, "maxItems": 3}, 3),
        ({"minItems": 2, "maxItems": 3}, None),
        ({}, None),
        ({"prefixItems": [{}, {}], "minItems": 2, "maxItems": 2}, 2),
        ({"prefixItems": [{}, {}], "minItems": 2, "items": False}, 2),
        ({"prefixItems": [{}, {}], "items": False}, None),
        ({"prefixItems": [{}, {}], "minItems": 2}, None),
    ],
    ids=str,
)
def test_the_length_that_an_array_always_has(schema: dict[str, Any], length: int | None) -> None:
    assert fixed_length(schema) == length


def test_each_place_of_an_array_has_its_schema() -> None:
    assert element_schemas({"items": {"type": "integer"}}, 2) == [{"type": "integer"}] * 2
    assert element_schemas({"prefixItems": [{"type": "integer"}, True]}, 2) == [{"type": "integer"}, True]
    assert element_schemas({}, 1) == [{}]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"default": 3}, 3),
        ({"default": None}, None),
        ({}, "missing"),
        (None, "missing"),
        ({"anyOf": [{"type": "integer", "default": 4}, {ABSENT: True}]}, 4),
        ({"anyOf": [{"type": "integer"}, {ABSENT: True}], "default": 1}, "missing"),
        ({"anyOf": [{"type": "integer", "default": 4}, {"type": "null"}]}, "missing"),
    ],
)
def test_what_stands_for_a_missing_key(schema: Any, expected: Any) -> None:
    assert default_of(schema, "missing") == expected


def test_a_field_of_one_observation_only_may_be_absent() -> None:
    step = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a", "b"]}
    reset = {"properties": {"a": {"type": "integer"}, "c": {"$ref": "#/$defs/C"}}, "$defs": {"C": {}}}
    both = combined(step, reset)
    assert both["properties"]["a"] == {"type": "integer"}
    assert both["properties"]["b"] == {"anyOf": [{"type": "string"}, {ABSENT: True}]}
    assert both["properties"]["c"] == {"anyOf": [{"$ref": "#/$defs/reset:C"}, {ABSENT: True}]}
    assert both["required"] == []
    assert combined(step, None) is step
    assert combined(step, dict(step)) is step


def test_a_field_that_differs_is_a_union() -> None:
    step = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
    reset = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    both = combined(step, reset)
    assert both["properties"]["a"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert both["required"] == ["a"]
