"""Values against JSON Schemas, compared with what the jsonschema package says of them."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from openenv_gym.testing.conformance.matching import mismatch

ITEM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SCHEMA: dict[str, Any] = {
    "$defs": {"Item": ITEM, "Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "type": "object",
    "additionalProperties": False,
    "required": ["count"],
    "properties": {
        "count": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10},
        "part": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "item": {"$ref": "#/$defs/Item"},
        "tree": {"$ref": "#/$defs/Tree"},
        "kind": {"enum": ["a", "b"]},
        "only": {"const": 3},
        "text": {"type": "string", "minLength": 2, "maxLength": 3},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "maxItems": 2},
        "both": {"allOf": [{"minimum": 1}, {"maximum": 2}]},
        "flags": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "free": True,
    },
}

VALUES: list[tuple[Any, bool]] = [
    ({"count": 0}, True),
    ({"count": 9.0}, True),
    ({"count": 10}, False),
    ({"count": -1}, False),
    ({"count": True}, False),
    ({"count": "1"}, False),
    ({}, False),
    ([], False),
    ({"count": 1, "other": 1}, False),
    ({"count": 1, "part": None}, True),
    ({"count": 1, "part": 1.5}, True),
    ({"count": 1, "part": "x"}, False),
    ({"count": 1, "item": {"name": "x"}}, True),
    ({"count": 1, "item": {}}, False),
    ({"count": 1, "tree": [[], [[]]]}, True),
    ({"count": 1, "tree": [[], [1]]}, False),
    ({"count": 1, "kind": "b"}, True),
    ({"count": 1, "kind": "c"}, False),
    ({"count": 1, "only": 4}, False),
    ({"count": 1, "text": "abc"}, True),
    ({"count": 1, "text": "abcd"}, False),
    ({"count": 1, "pair": [1, "x"]}, True),
    ({"count": 1, "pair": ["x", 1]}, False),
    ({"count": 1, "pair": [1, "x", 2]}, False),
    ({"count": 1, "both": 2}, True),
    ({"count": 1, "both": 3}, False),
    ({"count": 1, "flags": {"x": True}}, True),
    ({"count": 1, "flags": {"x": 1}}, False),
    ({"count": 1, "free": [{}]}, True),
]


@pytest.mark.parametrize(("value", "fits"), VALUES, ids=repr)
def test_a_value_fits_where_jsonschema_says_so(value: Any, fits: bool) -> None:
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(value) == fits
    assert (mismatch(value, SCHEMA) is None) == fits


def test_the_place_is_named() -> None:
    assert mismatch({"count": 1, "tree": [[], [1]]}, SCHEMA) == "it.tree[1][0] is 1, not of type array"
    assert mismatch({"count": 1, "colour": "red"}, SCHEMA) == "it.colour may not be there"
