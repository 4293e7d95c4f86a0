"""Arrays keep their shape, dtype and bounds on the way, and pixels their bytes."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from openenv_gym.bridge.codecs.arrays import ArrayCodec, PixelCodec
from openenv_gym.bridge.codecs.base import Columns, Refusal


def codec_of(space: Any, kind: str = "number", *, is_scalar: bool = False) -> ArrayCodec:
    return ArrayCodec(space, space.low, space.high, kind, is_scalar=is_scalar)


PAIR = codec_of(spaces.Box(-1, 1, (2,), np.float32))
ONE = codec_of(spaces.Box(-1, 1, (1,), np.float32), is_scalar=True)
COUNTS = codec_of(spaces.Box(0, 9, (2,), np.int64), "integer")
NOTHING = codec_of(spaces.Box(-1, 1, (0,), np.float32))
PIXELS = PixelCodec(spaces.Box(0, 255, (2, 2), np.uint8))


def test_what_is_read_is_new_and_of_the_spaces_dtype_and_shape() -> None:
    value = PAIR.decode([1, -0.5])
    assert (value.dtype, value.shape, value.flags.owndata) == (np.float32, (2,), True)
    assert ONE.decode(0.5).tolist() == [0.5]


@pytest.mark.parametrize("value", [0.5, [0.5], np.float64(0.5), np.array([[0.5]])])
def test_one_number_is_written_from_every_shape_that_holds_one(value: Any) -> None:
    assert ONE.encode(value) == 0.5


def test_integers_come_from_whole_floats_only() -> None:
    assert COUNTS.encode(np.array([1.0, 2.0])) == [1, 2]
    assert COUNTS.decode([1.0, 2.0]).dtype == np.int64
    with pytest.raises(Refusal):
        COUNTS.encode([1.5, 2])


def test_an_empty_array_is_an_empty_list() -> None:
    assert NOTHING.encode(np.zeros(0, np.float32)) == []
    assert NOTHING.decode([]).shape == (0,)


def test_a_value_at_a_bound_that_the_dtype_cannot_hold_is_inside() -> None:
    inside = np.nextafter(np.float32(0.3), np.float32(0))  # the nearest float32 is above
    space = spaces.Box(np.float32(0.1), inside, (1,), np.float32)
    codec = ArrayCodec(space, np.array([0.1]), np.array([0.3]), "number")
    for edge in (space.low, space.high):
        assert codec.decode(codec.encode(edge)) in space


@pytest.mark.parametrize(
    "value", [[0.5], [0, 2], [0, np.nan], [0, np.inf], "ab", None, [[0], [0, 1]], {"a": 1}, [True, "x"]]
)
def test_what_is_no_array_of_the_space_is_refused_both_ways(value: Any) -> None:
    for way in (PAIR.encode, PAIR.decode):
        with pytest.raises(Refusal):
            way(value)


@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0), (0, 2, 3)])
def test_an_array_without_elements_keeps_its_shape(shape: tuple[int, ...]) -> None:
    space = spaces.Box(0, 1, shape, np.float32)
    codec = ArrayCodec(space, space.low, space.high, "number")
    value = codec.decode(codec.encode(space.sample()))
    assert (value.shape, value.dtype) == (shape, np.float32)


def test_a_boolean_is_no_number_of_a_server() -> None:
    with pytest.raises(Refusal, match="boolean"):
        PAIR.decode([True, False])


def test_pixels_travel_as_base64() -> None:
    picture = np.array([[0, 1], [2, 255]], np.uint8)
    assert PIXELS.encode(picture) == "AAEC/w=="
    read = PIXELS.decode("AAEC/w==")
    assert (read.tolist(), read.flags.writeable) == (picture.tolist(), True)


@pytest.mark.parametrize("payload", [None, 3, "!", "AAE=", "é"])
def test_what_is_no_picture_of_the_shape_is_not_read(payload: Any) -> None:
    with pytest.raises(Refusal):
        PIXELS.decode(payload)


@pytest.mark.parametrize("value", [np.zeros(4, np.uint8), np.zeros((2, 2)), np.full((2, 2), -1)])
def test_a_picture_of_another_shape_or_dtype_is_not_written(value: Any) -> None:
    with pytest.raises(Refusal):
        PIXELS.encode(value)


class OneByOne(ArrayCodec):
    """Looks at every payload by itself."""

    def columns(self, payloads: Sequence[Any]) -> Columns | None:
        return None


ODD: list[Any] = [
    True,
    0,
    1,
    -1,
    0.5,
    1.0,
    1.5,
    -2.5,
    2**53,
    2**53 + 1,
    2**64,
    -(2**70),
    1e300,
    math.nan,
    math.inf,
    None,
    "1",
    [],
]
MANY = [
    (spaces.Box(-np.inf, np.inf, (2,), np.float32), "number", False),
    (spaces.Box(-1.0, 1.5, (2,), np.float32), "number", False),
    (spaces.Box(-1.0, 1.5, (2,), np.float64), "number", False),
    (spaces.Box(-np.inf, np.inf, (2,), np.float16), "number", False),
    (spaces.Box(-(2**62), 2**62, (2,), np.int64), "integer", False),
    (spaces.Box(0, 255, (2,), np.uint8), "integer", False),
    (spaces.Box(-2.0, 2.0, (2,), np.float32), "integer", False),
    (spaces.Box(0, 1, (2,), np.int8), "boolean", False),
    (spaces.Box(-1.0, 1.5, (), np.float32), "number", True),
    (spaces.Box(-1.0, 1.5, (1,), np.float32), "number", True),
]


@pytest.mark.parametrize(("space", "kind", "is_scalar"), MANY)
def test_many_payloads_are_read_at_once_as_one_by_one(space: spaces.Box, kind: str, is_scalar: bool) -> None:
    at_once = ArrayCodec(space, space.low, space.high, kind, is_scalar=is_scalar)
    one_by_one = OneByOne(space, space.low, space.high, kind, is_scalar=is_scalar)
    chance = random.Random(0)
    read = 0
    for _ in range(2000):
        plain = [1, 0] if kind == "integer" else [0.5, 1.0, 1, 0]
        choices = ODD if chance.random() < 0.3 else plain
        payloads: list[Any] = [
            chance.choice(choices) if is_scalar else [chance.choice(choices), chance.choice(plain)] for _ in range(3)
        ]
        columns = at_once.columns(payloads)
        expected = [outcome(one_by_one, payload) for payload in payloads]
        assert [outcome(at_once, payload) for payload in payloads] == expected
        if columns is not None:
            read += 1
            assert [(row.dtype, row.tolist()) for row in columns[()].reshape(3, *space.shape)] == expected
    assert (read > 100) == (kind != "boolean" and space.dtype != np.float16)


def outcome(codec: ArrayCodec, payload: Any) -> Any:
    """What a payload is read as, or why it is refused."""
    try:
        value = codec.decode(payload)
    except Refusal as refusal:
        return refusal.reason
    return value.dtype, value.tolist()
