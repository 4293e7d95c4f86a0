"""Declared spaces are used as they are, and their values travel."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import given, settings
from hypothesis import strategies as st
from openenv_gym_protocol import json_codec
from openenv_gym_protocol.errors import SchemaMismatch, UnsupportedSchema
from openenv_gym_protocol.json_schema import ABSENT, combined

from openenv_gym.bridge.codecs.base import Refusal
from openenv_gym.bridge.schema.exact import exact_codec, exact_root
from openenv_gym.bridge.spaces.text import JsonText, UnicodeText
from tests.support.space_strategies import every_space

CASTING = "ignore:.*Casting input x to numpy array"
"""What Gymnasium says of the rows of an array of one dimension, as soon as it looks whether they are in their space."""

SPACES = [
    spaces.Discrete(5),
    spaces.Discrete(5, start=-2),
    spaces.Box(-1, 1, (2, 3), np.float32),
    spaces.Box(-np.inf, np.inf, (2,), np.float64),
    spaces.Box(0, 255, (2, 2, 3), np.uint8),
    spaces.Box(-3, 3, (), np.float32),
    spaces.Box(-(2**62), 2**62, (2,), np.int64),
    spaces.MultiDiscrete([3, 4, 5]),
    spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
    spaces.MultiBinary(4),
    spaces.MultiBinary([2, 3]),
    spaces.Text(8),
    UnicodeText(12),
    JsonText(400),
    spaces.Tuple([spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2)]),
    spaces.Dict(OrderedDict(z=spaces.Discrete(2), a=spaces.Dict({"b": spaces.Box(0, 1, (1,))}))),
    spaces.Sequence(spaces.Box(0, 1, (2,))),
    spaces.Sequence(spaces.Discrete(4), stack=True),
    spaces.OneOf([spaces.Discrete(3), spaces.Box(0, 1, (1,))]),
    spaces.Graph(spaces.Box(0, 1, (2,)), spaces.Discrete(3)),
    spaces.Graph(spaces.Discrete(3), None),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_samples_travel_as_json_and_back(space: spaces.Space[Any]) -> None:
    codec = exact_codec(space)
    assert codec is not None
    assert codec.space is space
    space.seed(1)
    for _ in range(200):
        sample = space.sample()
        value = codec.decode(json.loads(json.dumps(codec.encode(sample))))
        assert value in space
        assert data_equivalence(value, sample, exact=True)


@pytest.mark.filterwarnings(CASTING)
@given(every_space(), st.integers(0, 2**31))
@settings(max_examples=200, deadline=None)
def test_a_sample_of_any_space_travels_as_the_standard_wires_text_and_back(space: spaces.Space[Any], seed: int) -> None:
    codec = exact_codec(space)
    assert codec is not None
    space.seed(seed)
    sample = space.sample()
    value = codec.decode(json_codec.decode(json_codec.encode(codec.encode(sample))))
    assert value in space
    assert data_equivalence(value, sample, exact=True)


@pytest.mark.filterwarnings(CASTING)
@given(every_space(), st.integers(0, 2**31), st.booleans())
@settings(max_examples=200, deadline=None)
def test_what_the_flat_view_shows_of_any_space_is_in_its_space_and_travels_unchanged(
    space: spaces.Space[Any], seed: int, sends: bool
) -> None:
    faithful, flat = exact_codec(space), exact_codec(space, flat=True, sends=sends)
    assert faithful is not None
    if flat is None:  # nothing in it is numeric
        return
    space.seed(seed)
    seen = flat.decode(json_codec.decode(json_codec.encode(faithful.encode(space.sample()))))
    assert seen in flat.space
    again = flat.decode(json_codec.decode(json_codec.encode(flat.encode(seen))))
    assert data_equivalence(again, seen, exact=True)


def test_the_parts_of_a_one_of_are_written_as_the_schema_says() -> None:
    pixels = {"type": "string", "contentEncoding": "base64"}
    pairs = [{"type": "array", "prefixItems": [{"const": 0}, pixels], "minItems": 2, "maxItems": 2}]
    codec = exact_codec(spaces.OneOf([spaces.Box(0, 255, (1, 2), np.uint8)]), {"type": "array", "oneOf": pairs})
    assert codec is not None
    assert codec.decode([0, "AQI="])[1].tolist() == [[1, 2]]
    assert codec.encode((0, np.array([[1, 2]], np.uint8))) == [0, "AQI="]


def test_the_parts_of_a_graph_are_written_as_the_schema_says() -> None:
    pixels = {"type": "array", "items": {"type": "string", "contentEncoding": "base64"}}
    names = {"type": ["array", "null"], "items": {"enum": ["road", "rail"]}}
    space = spaces.Graph(spaces.Box(0, 255, (1, 2), np.uint8), spaces.Discrete(2))
    codec = exact_codec(space, {"type": "object", "properties": {"nodes": pixels, "edges": names}})
    assert codec is not None
    payload = {"nodes": ["AQI=", "AwQ="], "edges": ["rail"], "edge_links": [[1, 0]]}
    value = codec.decode(payload)
    assert value.nodes.tolist() == [[[1, 2]], [[3, 4]]]
    assert value.edges.tolist() == [1]
    assert codec.encode(value) == payload


@pytest.mark.parametrize(
    ("space", "flat"),
    [
        (spaces.Discrete(5, start=-2), spaces.Discrete(5)),
        (spaces.Box(-3, 3, (), np.float64), spaces.Box(-3, 3, (1,), np.float32)),
        (spaces.Box(0, 255, (2, 2, 3), np.uint8), spaces.Box(0, 255, (2, 2, 3), np.uint8)),
        (spaces.Box(-9, 2**24, (2,), np.int32), spaces.Box(-9, 2**24, (2,), np.float32)),
        (spaces.Box(-(2**31), 7, (2,), np.int64), spaces.Box(-(2**31), 7, (2,), np.float64)),
        (spaces.Box(0, 2**60, (), np.int64), spaces.Box(0, 2**60, (1,), np.int64)),
        (
            spaces.Dict({"a": spaces.Dict({"b": spaces.Discrete(2)}), "t": UnicodeText()}),
            spaces.Dict({"a.b": spaces.Discrete(2)}),
        ),
        (
            spaces.Tuple([spaces.Discrete(3), spaces.Box(0, 1, (2,))]),
            spaces.Dict({"0": spaces.Discrete(3), "1": spaces.Box(0, 1, (2,))}),
        ),
    ],
    ids=str,
)
def test_the_flat_view_of_a_declared_space(space: spaces.Space[Any], flat: spaces.Space[Any]) -> None:
    codec = exact_codec(space, flat=True)
    assert codec is not None
    assert codec.space == flat
    for _ in range(50):
        sample = flat.sample()
        if isinstance(space, spaces.Box) and space.dtype.kind == "i" and isinstance(sample[0], np.floating):
            sample = np.rint(sample)  # whole numbers, though the Box is one of floats
        assert data_equivalence(codec.decode(codec.encode(sample)), sample, exact=True)


@pytest.mark.parametrize(
    ("space", "flat"),
    [
        (spaces.Box(-9, 9, (), np.int32), spaces.Box(-9, 9, (1,), np.int32)),
        (spaces.Dict({"a": spaces.Box(0, 2**60, (2,), np.int64)}), None),
        (spaces.Box(-3, 3, (2,), np.float64), spaces.Box(-3, 3, (2,), np.float32)),
    ],
    ids=str,
)
def test_the_flat_view_of_a_declared_action_keeps_its_integers(
    space: spaces.Space[Any], flat: spaces.Space[Any] | None
) -> None:
    codec = exact_codec(space, flat=True, sends=True)
    assert codec is not None
    assert codec.space == (space if flat is None else flat)


@pytest.mark.parametrize("edge", [2.0**63, np.float64(2**63)])
def test_a_float_just_above_the_largest_integer_is_refused(edge: Any) -> None:
    high = np.iinfo(np.int64).max
    codec = exact_codec(spaces.Box(0, high, (1,), np.int64))
    assert codec is not None
    assert codec.encode([high]) == [high]
    with pytest.raises(Refusal):
        codec.encode([edge])


def test_half_a_bit_is_refused() -> None:
    codec = exact_codec(spaces.MultiBinary(2), {"items": {"type": "boolean"}})
    assert codec is not None
    assert codec.encode([1.0, 0]) == [True, False]
    with pytest.raises(Refusal):
        codec.encode([0.5, 0])


@pytest.mark.parametrize(
    "space",
    [
        UnicodeText(),
        spaces.Sequence(spaces.Discrete(2)),
        spaces.OneOf([UnicodeText()]),
        spaces.Graph(spaces.Discrete(2), None),
    ],
)
def test_what_is_not_numeric_has_no_flat_view(space: spaces.Space[Any]) -> None:
    assert exact_codec(space, flat=True) is None
    with pytest.raises(UnsupportedSchema):
        exact_root(space, {"properties": {"x": {}}}, frozenset(), flat=True)


def test_a_space_belongs_to_the_models_one_field_or_its_one_required_field() -> None:
    space = spaces.Discrete(2)
    one = {"properties": {"action": {"type": "integer"}, "metadata": {}}}
    required = {"properties": {"action": {}, "comment": {}}, "required": ["action"]}
    for schema in (one, required):
        codec = exact_root(space, schema, frozenset({"metadata"}))
        assert codec.encode(1) == {"action": 1}
        assert codec.decode({"action": 1, "comment": "x"}) == 1
    with pytest.raises(SchemaMismatch):
        exact_root(space, {"properties": {"a": {}, "b": {}}}, frozenset())


def test_a_dict_is_the_model_or_its_one_field() -> None:
    space = spaces.Dict({"a": spaces.Discrete(2)})
    whole = exact_root(space, {"properties": {"a": {}, "text": {}}}, frozenset())
    inner = exact_root(space, {"properties": {"board": {"type": "object"}}}, frozenset())
    assert whole.decode({"a": 1, "text": "x"}) == {"a": 1}
    assert inner.decode({"board": {"a": 1}}) == {"a": 1}


def test_one_number_and_a_list_of_one_are_told_apart_by_the_schema() -> None:
    space = spaces.Box(0, 1, (1,))
    scalar = exact_codec(space, {"type": "number"})
    listed = exact_codec(space, {"type": "array", "items": {"type": "number"}})
    assert scalar is not None
    assert listed is not None
    assert scalar.encode(np.array([0.5])) == 0.5
    assert listed.encode(np.array([0.5])) == [0.5]
    assert scalar.decode(0.5).shape == listed.decode([0.5]).shape == (1,)


@pytest.mark.parametrize(
    ("schema", "missing_is"),
    [
        ({"type": "integer", "default": 3}, 3),
        ({"anyOf": [{"type": "integer", "default": 2}, {ABSENT: True}]}, 2),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 1}, 1),
        ({"type": "integer"}, None),
        ({"anyOf": [{"type": "integer"}, {ABSENT: True}]}, None),
        (True, None),
    ],
    ids=str,
)
def test_a_missing_key_has_its_default_or_is_refused(schema: Any, missing_is: int | None) -> None:
    space = spaces.Dict({"level": spaces.Discrete(5)})
    codec = exact_root(space, {"type": "object", "properties": {"level": schema, "n": {}}}, frozenset())
    assert codec.decode({"level": 4, "n": 0}) == {"level": 4}
    if missing_is is not None:
        assert codec.decode({"n": 0}) == {"level": missing_is}
    else:
        with pytest.raises(Refusal) as raised:
            codec.decode({"n": 0})
        assert raised.value.path == ["level"]


def test_a_field_of_only_the_step_has_its_default_in_the_observation_of_a_reset() -> None:
    seen = combined(
        {"type": "object", "properties": {"level": {"type": "integer"}, "error": {"default": None}}},
        {"type": "object", "properties": {"level": {"type": "integer"}}},
    )
    codec = exact_root(spaces.Dict({"level": spaces.Discrete(5), "error": JsonText()}), seen, frozenset())
    assert codec.decode({"level": 1}) == {"level": 1, "error": "null"}


def test_a_json_texts_form_is_the_spaces_or_the_schemas() -> None:
    for space, schema in ((JsonText(form="object"), {}), (JsonText(), {"type": "object"})):
        codec = exact_codec(space, schema)
        assert codec is not None
        assert codec.encode('{"a":1}') == {"a": 1}
        with pytest.raises(Refusal):
            codec.encode("[1]")
        with pytest.raises(Refusal):
            codec.decode([1])


def test_a_discrete_of_an_enumeration_is_its_position() -> None:
    codec = exact_codec(spaces.Discrete(2), {"enum": ["stick", "hit"]})
    assert codec is not None
    assert codec.encode(1) == "hit"
    assert codec.decode("stick") == 0


@pytest.mark.parametrize(
    ("space", "payload"),
    [
        (spaces.Discrete(3), 3),
        (spaces.Discrete(3), True),
        (spaces.Box(0, 1, (2,)), [0.5]),
        (spaces.Box(0, 1, (2,)), [0.5, None]),
        (spaces.Box(0, 1, (2,)), [0.5, 1.5]),
        (spaces.Box(0, 1, (2,)), [[0.5], [0.5, 0.5]]),
        (spaces.Box(0, 9, (2,), np.int64), [1, 2.5]),
        (spaces.Box(0, 255, (2,), np.uint8), [1, 256]),
        (spaces.MultiDiscrete([2, 3]), [1, 3]),
        (spaces.MultiBinary(2), [1, 2]),
        (spaces.Text(3), "a b"),
        (spaces.Tuple([spaces.Discrete(2)]), [1, 1]),
        (spaces.Dict({"a": spaces.Discrete(2)}), {}),
        (spaces.OneOf([spaces.Discrete(2)]), [1, 0]),
    ],
    ids=str,
)
def test_payloads_outside_are_refused(space: spaces.Space[Any], payload: Any) -> None:
    codec = exact_codec(space)
    assert codec is not None
    with pytest.raises(Refusal):
        codec.decode(payload)
