"""One leaf: which numbers fit, and the bytes that they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.vector.array_data import DTYPES
from openenv_gym_protocol.vector.leaves import Leaf, Misfit, ShortWay


def leaf(dtype: str, *shape: int) -> Leaf:
    return Leaf((), dtype, shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bytes_are_those_of_numpy(dtype: str) -> None:
    array = np.array([[0, 1], [1, 0]], np.dtype(dtype).newbyteorder("<"))
    packed = leaf(dtype, 2, 2).pack(array.tolist())
    assert packed == array.tobytes()
    assert leaf(dtype, 2, 2).pack(array) == packed
    assert np.dtype(leaf(dtype).wire_dtype) == array.dtype
    assert leaf(dtype, 2, 2).unpack(packed + packed) == [array.tolist()] * 2


def test_another_byte_order_and_layout_in_memory_make_no_difference() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = array.tobytes()
    for same in (array.astype(">f4"), np.asfortranarray(array), np.repeat(array, 2, axis=1)[:, ::2]):
        assert leaf("float32", 2, 3).pack(same) == expected


@pytest.mark.parametrize(
    ("dtype", "shape", "value", "expected"),
    [
        ("int64", (), 3, 3),
        ("int64", (), [3], 3),
        ("int64", (), np.int8(3), 3),
        ("int64", (), np.array([[3]]), 3),
        ("int64", (), True, 1),
        ("float32", (1,), 0.5, [0.5]),
        ("float32", (1, 1), 2, [[2.0]]),
        ("float32", (2,), [1, np.float64(2)], [1.0, 2.0]),
        ("float32", (2,), (1, 2), [1.0, 2.0]),
        ("float32", (2, 1), [np.array([1.0]), np.array([2.0])], [[1.0], [2.0]]),
        ("float32", (2,), np.array([1, 2], np.int64), [1.0, 2.0]),
        ("float32", (2,), np.array([True, False]), [1.0, 0.0]),
        ("uint8", (2,), np.array([1, 255], np.int64), [1, 255]),
        ("uint8", (2,), [1.0, 255.0], [1, 255]),
        ("uint8", (2,), [np.float64(1.0), 2], [1, 2]),
        ("int32", (2,), np.array([1.0, -2.0]), [1, -2]),
        ("int8", (2,), np.array([True, False]), [1, 0]),
        ("bool", (2,), [1, False], [True, False]),
        ("bool", (2,), np.array([1, 0]), [True, False]),
        ("uint8", (2, 2), b"\1\2\3\4", [[1, 2], [3, 4]]),
        ("uint8", (2,), bytearray(b"\1\2"), [1, 2]),
        ("float32", (2,), [1e300, -1e300], [math.inf, -math.inf]),
        ("float16", (2,), np.array([1e300, 1.0]), [math.inf, 1.0]),
        ("float16", (3,), [1e300, 1.0, math.nan], None),
        ("uint64", (1,), [2**64 - 1], [2**64 - 1]),
    ],
)
def test_what_fits(dtype: str, shape: tuple[int, ...], value: Any, expected: Any) -> None:
    (read,) = leaf(dtype, *shape).unpack(leaf(dtype, *shape).pack(value))
    if expected is None:
        assert read[:2] == [math.inf, 1.0]
        assert math.isnan(read[2])
    else:
        assert read == expected


@pytest.mark.parametrize(
    ("dtype", "shape", "value"),
    [
        ("int64", (), None),
        ("int64", (), 1.0),
        ("int64", (), "1"),
        ("int64", (), [1, 2]),
        ("int64", (), 2**63),
        ("int64", (2,), [1.5, 2.0]),
        ("int64", (2,), [math.inf, 1.0]),
        ("int64", (2,), np.array([1.5, 2.0])),
        ("int64", (2,), np.array([math.nan, 2.0])),
        ("uint8", (2,), [0, 256]),
        ("uint8", (2,), np.array([0, 256])),
        ("uint8", (2,), np.array([0, -1], np.int8)),
        ("uint64", (1,), np.array([-1])),
        ("uint8", (3,), b"12"),
        ("int8", (3,), b"123"),
        ("bool", (2,), [2, 0]),
        ("bool", (2,), np.array([2, 0])),
        ("float32", (2,), [1.0]),
        ("float32", (2,), 1.0),
        ("float32", (2,), [None, 1.0]),
        ("float32", (2,), ["a", 1.0]),
        ("float32", (2,), np.array(["a", "b"])),
        ("float32", (2,), np.array([1, None], dtype=object)),
        ("float64", (1,), [10**400]),
        ("float32", (1,), [10**60]),
        ("float32", (2, 2), [[1.0, 2.0], [3.0]]),
        ("float32", (2, 2), [[1.0, 2.0], 3.0]),
        ("float32", (2, 2), np.zeros(4)),
        ("float32", (2,), {"a": 1}),
    ],
)
def test_what_does_not_fit(dtype: str, shape: tuple[int, ...], value: Any) -> None:
    with pytest.raises(Misfit):
        leaf(dtype, *shape).pack(value)


def test_a_misfit_tells_where_it_was() -> None:
    assert str(Misfit("it is red").within("colour").within(3)) == "3: colour: it is red"


@pytest.mark.parametrize(
    ("dtype", "shape", "value"),
    [
        ("float32", (2,), [1.5, -2.0]),
        ("float32", (2,), [1, True]),
        ("int8", (2,), [1, -2]),
        ("float32", (2,), np.array([1.5, -2.0], "<f4")),
        ("uint8", (2, 1), np.array([[1], [2]], "u1")),
        ("bool", (2,), np.array([True, False])),
    ],
)
def test_the_short_way_gives_the_same_bytes(dtype: str, shape: tuple[int, ...], value: Any) -> None:
    leaf = Leaf((), dtype, shape)
    assert ShortWay(leaf).packed(value) == leaf.pack(value)


@pytest.mark.parametrize(
    ("dtype", "shape", "value"),
    [
        ("float32", (2,), [1.5]),
        ("float32", (2,), (1.5, 2.0)),
        ("int8", (2,), [1, 300]),
        ("int8", (2,), [1.0, 2.0]),
        ("bool", (2,), [2, 3]),
        ("float32", (2,), np.array([1.5, -2.0], "<f8")),
        ("float32", (2,), np.array([1.5, -2.0], ">f4")),
        ("float32", (2,), np.array([[1.5, -2.0]], "<f4")),
        ("uint8", (2, 1), [1, 2]),
        ("int64", (), 3),
    ],
)
def test_what_needs_a_closer_look_goes_no_short_way(dtype: str, shape: tuple[int, ...], value: Any) -> None:
    way = ShortWay(Leaf((), dtype, shape))
    assert way.packed(value) is None
    # Nor after an array that went it.
    assert way.packed(np.zeros(shape, np.dtype(dtype))) is not None
    assert way.packed(value) is None
