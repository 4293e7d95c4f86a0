"""Arrays inside values."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from openenv_gym_protocol.errors import ExecutionError, ProtocolFailure
from openenv_gym_protocol.vector import array_data, codec, frames
from openenv_gym_protocol.vector.array_data import DTYPES, ArrayData, arrays_replaced


def decoded(value: Any) -> Any:
    reply = codec.decode_reply(codec.encode(frames.Values(id=1, lanes=[0], values=[value])))
    assert isinstance(reply, frames.Values)
    return reply.values[0]


@given(st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_side=0))))
@settings(max_examples=200, deadline=None)
def test_an_array_travels_with_its_dtype_and_shape(array: Any) -> None:
    read = decoded(array)
    assert isinstance(read, ArrayData)
    again = np.frombuffer(read.data, np.dtype(read.dtype).newbyteorder("<")).reshape(read.shape)
    np.testing.assert_array_equal(again, array)
    assert again.dtype.name == array.dtype.name


def test_an_empty_array_comes_to_no_more_lists_than_a_few() -> None:
    refused: list[tuple[int, ...]] = [(65, 0), (5, 13, 0), (2**40, 0, 3)]
    for shape in refused:
        with pytest.raises(ProtocolFailure):
            ArrayData("int8", shape, b"").check()
    allowed: list[tuple[int, ...]] = [(64, 0), (0, 2**40), (8, 8, 0, 5), (65, 1)]
    for shape in allowed:
        ArrayData("int8", shape, bytes(np.prod(shape))).check()


def test_an_array_of_many_empty_parts_travels_as_lists() -> None:
    assert decoded(np.zeros((65, 0), "int8")) == [[]] * 65
    assert decoded(np.zeros((64, 0), "int8")) == ArrayData("int8", (64, 0), b"")


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.arange(12, dtype="<f8")[::2],
        np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
    ],
    ids=["big-endian", "strided", "columns first"],
)
def test_an_array_is_written_little_endian_and_row_by_row(array: Any) -> None:
    read = decoded(array)
    np.testing.assert_array_equal(np.frombuffer(read.data, f"<{array.dtype.str[1:]}").reshape(read.shape), array)


def test_a_native_array_of_a_big_endian_host_is_turned_round(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.array([1, 256], np.int16)
    # numpy still knows that this host is little-endian: turning round to "<" changes nothing here.
    monkeypatch.setattr(sys, "byteorder", "big")
    assert array_data.little_endian(array) == b"\x01\x00\x00\x01"


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([1, None], dtype=object), [1, None]),
        (np.array([1 + 0j]).real, None),
        (np.array(5, np.int8), 5),
    ],
    ids=["text", "objects", "numbers", "no dimensions"],
)
def test_other_arrays_travel_as_lists(array: Any, expected: Any) -> None:
    read = decoded(array)
    assert isinstance(read, ArrayData) if expected is None else read == expected


def test_an_array_of_a_dtype_without_a_form_is_a_typed_error() -> None:
    with pytest.raises(ExecutionError):
        codec.encode_value(np.array([1j]))


@pytest.mark.parametrize(
    "array",
    [
        ArrayData("object", [1], bytes(8)),
        ArrayData("int16", [2], bytes(3)),
        ArrayData("int8", [-1], b""),
        ArrayData("int8", [0, 2**62, 4], b""),
        ArrayData("int8", [1] * 33, b"\0"),
        ArrayData("bool", [1], b"\2"),
    ],
    ids=repr,
)
def test_an_array_whose_parts_do_not_fit_is_refused_at_both_ends(array: ArrayData) -> None:
    with pytest.raises(ProtocolFailure):
        array.check()
    with pytest.raises(ExecutionError):
        codec.encode_value(array)


@pytest.mark.parametrize("array", [ArrayData("int8", [], b"\1"), ArrayData("float16", [0, 2**40], b"")], ids=repr)
def test_an_array_without_dimensions_or_elements_is_an_array(array: ArrayData) -> None:
    assert decoded(array) == array
    assert hash(decoded(array)) == hash(array)


def test_arrays_are_equal_by_what_they_hold() -> None:
    array = ArrayData("int8", [2], b"\1\2")
    assert array == ArrayData("int8", (2,), b"\1\2")
    assert array != ArrayData("uint8", [2], b"\1\2")
    assert array != b"\1\2"
    assert "int8" in repr(array)


def test_arrays_are_replaced_wherever_they_stand_in_a_copy() -> None:
    array = ArrayData("int8", (2,), b"12")
    value = {"a": [array, {"b": array}], "c": "text", 5: None}
    replaced = arrays_replaced(value, lambda each: each.shape)
    assert replaced == {"a": [(2,), {"b": (2,)}], "c": "text", 5: None}
    assert value["a"][0] is array  # type: ignore[index]
