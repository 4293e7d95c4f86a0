"""A value that its schema excludes is refused by its name; what the schema allows, or does not speak of, passes."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.bridge.option_values import check_values

ROW = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
CHANCE = {"type": "number", "minimum": 0, "maximum": 1}
OPTIONAL = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}
PAIR = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "boolean"}, "banana", "true or false, not 'banana'"),
        ({"type": "boolean"}, 2, "true or false"),
        ({"type": "integer"}, 2.5, "a whole number"),
        ({"type": "number"}, "x", "a number"),
        ({"type": ["number", "null"]}, "x", "a number or None"),
        ({"type": "string"}, 3, "a text"),
        ({"type": "object"}, [], "a mapping"),
        ({"enum": ["mcts", "random"]}, "mtcs", "not 'mtcs'. Did you mean 'mcts'?"),
        (CHANCE, 2, "a number from 0 to 1, not 2"),
        (CHANCE, -0.1, "a number from 0 to 1"),
        (CHANCE, float("nan"), "a number from 0 to 1"),
        ({"type": "number", "exclusiveMinimum": 0}, 0, "a number over 0"),
        ({"type": "number", "exclusiveMaximum": 5}, 5.0, "a number below 5"),
        ({"type": "integer", "maximum": 5}, 6, "a whole number up to 5"),
        ({"type": "string", "maxLength": 2}, "abc", "a text of at most 2"),
        ({"enum": ["4x4", "8x8"]}, "9x9", "one of '4x4', '8x8'"),
        ({"const": "a"}, "b", "'a'"),
        (OPTIONAL, "", "a text of at least 1 or None"),
        (OPTIONAL, 3, "or None"),
        (ROW, (1, 2), "a list of 3"),
        (ROW, (1, 2, "x"), "a list of 3"),
        ({"type": "array", "minItems": 1}, [], "a list of at least 1"),
        (PAIR, ["a", "b"], "a list"),
        (CHANCE, None, "a number"),
    ],
)
def test_a_wrong_value_names_its_keyword_and_what_it_should_be(schema: Any, value: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^mine/Game-v0: slip= must be .*{expected}"):
        check_values("mine/Game-v0", {"slip": value}, {"slip": schema})


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "boolean"}, 1),
        ({"type": "boolean"}, np.bool_(True)),
        ({"type": "integer"}, 2.0),
        ({"type": "integer"}, np.int8(2)),
        ({"type": "number"}, np.float32(0.5)),
        (CHANCE, 1),
        ({"enum": [None, "8x8"]}, None),
        ({"type": "number", "default": None}, None),
        (OPTIONAL, None),
        (ROW, (1, 0, 0.5)),
        (ROW, np.zeros(3)),
        (PAIR, ("a", 3)),
        ({}, object()),
        ({"type": "string", "format": "date-time"}, datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)),
        ({"$ref": "#/$defs/Mode"}, "anything"),
        ({"type": "strange"}, 3),
        (True, 3),
    ],
)
def test_right_values_pass_and_those_of_which_nothing_is_said(schema: Any, value: Any) -> None:
    check_values("mine/Game-v0", {"slip": value, "other": "x"}, {"slip": schema})
