"""Payloads of a model as columns: the same values as a client reads from the standard wire."""

from __future__ import annotations

import base64
from enum import Enum
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from gymnasium import Space, spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from openenv_gym_protocol import json_codec
from openenv_gym_protocol.errors import InvalidAction, InvalidObservation, SchemaMismatch
from openenv_gym_protocol.gymnasium_spaces import data_to_space, space_to_data
from openenv_gym_protocol.json_schema import combined
from openenv_gym_protocol.models import Action, Observation
from openenv_gym_protocol.root_field import ACTION_KEYS, OBSERVATION_KEYS
from openenv_gym_protocol.vector.payloads import PayloadColumns, payload_columns
from pydantic import BaseModel, Field, create_model

from openenv_gym.bridge.schema.exact import exact_root
from tests.support.fixed_spaces import fixed_spaces


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Inner(BaseModel):
    x: float = 0.0
    colour: Colour = Colour.RED


class Everything(Observation):
    """An observation with a leaf of each kind."""

    count: int
    choice: Literal["left", "right", "stay"]
    colour: Colour
    inner: Inner
    speed: float
    hand: tuple[int, int, bool]
    legal: Annotated[list[int], Field(json_schema_extra={"uniqueItems": True})]
    keys: list[bool]
    pixels: Annotated[str, Field(json_schema_extra={"contentEncoding": "base64"})]
    note: int = 7


SPACE = spaces.Dict(
    {
        "count": spaces.Discrete(5, start=-2),
        "choice": spaces.Discrete(3, start=1),
        "colour": spaces.Discrete(2),
        "inner": spaces.Dict({"x": spaces.Box(-1, 1, (), np.float64), "colour": spaces.Discrete(2)}),
        "speed": spaces.Box(0, 9, (1,), np.float32),
        "hand": spaces.Tuple([spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2)]),
        "legal": spaces.MultiBinary(4),
        "keys": spaces.MultiBinary(2),
        "pixels": spaces.Box(0, 255, (1, 2, 3), np.uint8),
        "note": spaces.Discrete(9),
    }
)
PAYLOAD: dict[str, Any] = {
    "count": 2,
    "choice": "stay",
    "colour": "green",
    "inner": {"x": 0.5, "colour": "red"},
    "speed": 1.5,
    "hand": [20, 10, 1],
    "legal": [0, 3],
    "keys": [True, False],
    "pixels": base64.b64encode(bytes(range(6))).decode(),
    "note": 7,
}
VALUE: dict[str, Any] = {
    "choice": 3,
    "colour": 1,
    "count": 2,
    "hand": (20, 10, 1),
    "inner": {"colour": 0, "x": 0.5},
    "keys": [1, 0],
    "legal": [1, 0, 0, 1],
    "note": 7,
    "pixels": [[[0, 1, 2], [3, 4, 5]]],
    "speed": [1.5],
}


def everything(*, of_action: bool = False) -> PayloadColumns:
    found = payload_columns(space_to_data(SPACE), Everything.model_json_schema(), OBSERVATION_KEYS, of_action=of_action)
    assert found is not None
    return found


def unpacked(columns: PayloadColumns, payload: Any) -> Any:
    (value,) = columns.layout.unpack(columns.layout.stack([columns.pack(payload)]), 1)
    return value


def test_the_payload_of_every_kind_of_leaf_becomes_its_value() -> None:
    assert unpacked(everything(), PAYLOAD) == VALUE


def test_the_value_of_every_kind_of_leaf_becomes_its_payload() -> None:
    assert everything().payload(VALUE) == PAYLOAD


def test_a_client_of_the_standard_wire_reads_the_same_value() -> None:
    codec = exact_root(SPACE, Everything.model_json_schema(), OBSERVATION_KEYS)
    columns = everything().layout
    arrays = columns.arrays(columns.stack([everything().pack(PAYLOAD)]), 1, np)
    value = columns.assemble([array[0] for array in arrays])
    assert codec.decode(PAYLOAD) in SPACE
    for found, expected in zip(columns.take_apart(value), columns.take_apart(codec.decode(PAYLOAD)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_what_a_model_dumps_is_a_payload() -> None:
    """Enumerations, numpy's numbers, arrays and sets are what environments leave in their models."""
    dumped = {
        **Everything(**{**PAYLOAD, "colour": Colour.GREEN}).model_dump(),
        "count": np.int64(2),
        "hand": np.array([20, 10, 1]),
        "legal": {3, 0},
        "keys": np.array([1, 0]),
        "pixels": PAYLOAD["pixels"].encode(),
    }
    assert unpacked(everything(), dumped) == VALUE


def test_a_default_stands_for_a_field_that_is_missing() -> None:
    payload = {key: value for key, value in PAYLOAD.items() if key != "note"}
    assert unpacked(everything(), payload) == VALUE


def test_a_field_of_steps_only_may_be_missing_in_a_reset() -> None:
    step = create_model("Step", __base__=Observation, at=(int, ...), last=(int, 3))
    reset = create_model("Reset", __base__=Observation, at=(int, ...))
    schema = combined(step.model_json_schema(), reset.model_json_schema())
    space = space_to_data(spaces.Dict({"at": spaces.Discrete(5), "last": spaces.Discrete(5)}))
    columns = payload_columns(space, schema, OBSERVATION_KEYS)
    assert columns is not None
    assert unpacked(columns, {"at": 1}) == {"at": 1, "last": 3}


@pytest.mark.parametrize(
    "change",
    [
        {"count": 3},
        {"count": -3},
        {"count": True},
        {"count": 1.0},
        {"count": "2"},
        {"count": None},
        {"choice": "up"},
        {"choice": 1},
        {"inner": {"x": "fast", "colour": "red"}},
        {"inner": 3},
        {"inner": {"x": 0.5, "colour": "blue"}},
        {"hand": [1, 2]},
        {"hand": 7},
        {"legal": [4]},
        {"legal": [True]},
        {"legal": "0"},
        {"keys": [True]},
        {"pixels": "###"},
        {"pixels": "AAAA"},
        {"pixels": 3},
        {"note": None},
    ],
    ids=str,
)
def test_a_payload_outside_the_space_is_refused_by_the_name_of_its_field(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidObservation, match=next(iter(change))):
        everything().pack({**PAYLOAD, **change})
    with pytest.raises(InvalidAction):
        everything(of_action=True).pack({**PAYLOAD, **change})


def test_a_missing_field_is_refused() -> None:
    with pytest.raises(InvalidObservation, match="count"):
        everything().pack({key: value for key, value in PAYLOAD.items() if key != "count"})


@pytest.mark.parametrize("change", [{"count": 3}, {"count": -3}, {"choice": 0}, {"choice": 4}, {"hand": (1, 11, 0)}])
def test_a_value_outside_the_space_is_refused_by_the_name_of_its_field(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidAction, match=next(iter(change))):
        everything().payload({**VALUE, **change})


class Move(Action):
    move: Literal["stick", "hit"]


class Bet(Action):
    amount: int
    comment: str = ""


class Two(Action):
    a: int
    b: int


DISCRETE = space_to_data(spaces.Discrete(2))


def action_columns(space: Space[Any], model: type[BaseModel]) -> PayloadColumns:
    found = payload_columns(space_to_data(space), model.model_json_schema(), ACTION_KEYS, of_action=True)
    assert found is not None
    return found


class Thrust(Action):
    thrust: list[float]


def test_an_action_outside_its_bounds_is_refused_both_ways() -> None:
    columns = action_columns(spaces.Box(0.3, 0.7, (2,), np.float32), Thrust)
    packed = columns.pack({"thrust": [0.3, 0.7]})
    (value,) = columns.layout.unpack(columns.layout.stack([packed]), 1)
    assert columns.payload(value) == {"thrust": value}
    for wrong in ([0.3, 0.8], [0.2, 0.5], [float("nan"), 0.5]):
        with pytest.raises(InvalidAction, match="The action does not fit"):
            columns.pack({"thrust": wrong})
        with pytest.raises(InvalidAction, match="outside its space"):
            columns.payload(wrong)


class Switches(Action):
    switches: list[int]


@pytest.mark.parametrize(("space", "wrong"), [(spaces.MultiDiscrete([2, 3]), [0, 3]), (spaces.MultiBinary(2), [0, 2])])
def test_the_integers_of_an_action_are_checked(space: Space[Any], wrong: list[int]) -> None:
    columns = action_columns(space, Switches)
    assert columns.payload([0, 1]) == {"switches": [0, 1]}
    with pytest.raises(InvalidAction):
        columns.payload(wrong)


def test_pixels_may_be_an_array() -> None:
    space, payload = spaces.Dict({"pixels": SPACE["pixels"]}), np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    columns = payload_columns(space_to_data(space), Everything.model_json_schema(), OBSERVATION_KEYS)
    assert columns is not None
    assert columns.pack({"pixels": payload}) == (bytes(range(6)),)
    for wrong in (payload[0], payload.astype(np.int64)):
        with pytest.raises(InvalidObservation):
            columns.pack({"pixels": wrong})


def test_a_space_that_is_no_dict_is_that_of_the_one_field() -> None:
    columns = payload_columns(DISCRETE, Move.model_json_schema(), ACTION_KEYS)
    assert columns is not None
    assert columns.payload(1) == {"move": "hit"}
    assert unpacked(columns, {"move": "hit", "metadata": {}}) == 1
    with pytest.raises(InvalidObservation, match="move"):
        columns.pack({})


def test_a_space_that_is_no_dict_is_that_of_the_one_required_field() -> None:
    columns = payload_columns(DISCRETE, Bet.model_json_schema(), ACTION_KEYS)
    assert columns is not None
    assert columns.payload(1) == {"amount": 1}


def test_a_space_of_no_field_is_a_typed_error() -> None:
    with pytest.raises(SchemaMismatch):
        payload_columns(DISCRETE, Two.model_json_schema(), ACTION_KEYS)


def test_a_space_without_a_fixed_shape_has_no_columns() -> None:
    assert payload_columns(space_to_data(spaces.Text(4)), Move.model_json_schema(), ACTION_KEYS) is None


def test_a_dict_of_a_schema_that_says_nothing_is_the_model() -> None:
    columns = payload_columns(space_to_data(spaces.Dict({"a": spaces.Discrete(2)})), {}, ACTION_KEYS)
    assert columns is not None
    assert columns.payload({"a": 1}) == {"a": 1}


@given(fixed_spaces(), st.integers(0, 2**31))
@settings(max_examples=80, deadline=None)
def test_samples_of_every_space_are_the_same_on_both_wires(space: Space[Any], seed: int) -> None:
    data = space_to_data(space)
    space = data_to_space(data)
    schema = {"type": "object", "properties": {"it": {}, "metadata": {}}}
    columns = payload_columns(data, schema, ACTION_KEYS, of_action=True)
    assert columns is not None
    codec = exact_root(space, schema, ACTION_KEYS)
    space.seed(seed)
    sample = space.sample()
    payload = json_codec.decode(json_codec.encode(codec.encode(sample)))
    packed = columns.layout.stack([columns.layout.pack(sample)])
    assert columns.payload(columns.layout.unpack(packed, 1)[0]) == payload
    assert columns.layout.stack([columns.pack(payload)]) == packed


def test_the_fields_of_many_actions_are_those_of_each() -> None:
    columns = of(Push, spaces.Discrete(3, start=-1), ACTION_KEYS, of_action=True)
    assert columns.has_range
    assert columns.payloads([-1, 0, 1]) == [columns.payload(value) for value in (-1, 0, 1)]


@pytest.mark.parametrize("values", [[0, 2], [-2, 0], []])
def test_actions_of_which_one_is_outside_are_looked_at_one_by_one(values: list[int]) -> None:
    columns = of(Push, spaces.Discrete(3, start=-1), ACTION_KEYS, of_action=True)
    assert columns.payloads(values) is None


def test_actions_that_are_no_range_are_looked_at_one_by_one() -> None:
    columns = of(Pushes, spaces.MultiDiscrete([2, 2]), ACTION_KEYS, of_action=True)
    assert not columns.has_range
    assert columns.payloads([[0, 1]]) is None


class Push(Action):
    push: int


class Pushes(Action):
    pushes: list[int]


def of(model: type[BaseModel], space: Space[Any], keys: frozenset[str], *, of_action: bool) -> PayloadColumns:
    columns = payload_columns(space_to_data(space), model.model_json_schema(), keys, of_action=of_action)
    assert columns is not None
    return columns
