"""Values of fixed-shape spaces as columns and back."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from gymnasium import Space, spaces
from gymnasium.vector.utils import batch_space
from hypothesis import given, settings
from hypothesis import strategies as st
from openenv_gym_protocol.errors import ConfigurationError, InvalidAction, InvalidObservation, ProtocolFailure
from openenv_gym_protocol.gymnasium_spaces import space_to_data
from openenv_gym_protocol.vector.columns import (
    Layout,
    check_batch,
    layout_of,
    pack_rewards,
    unpack_reward,
)
from openenv_gym_protocol.vector.frames import Batch

from tests.support.fixed_spaces import fixed_spaces, plain

NESTED = spaces.Dict(
    {
        "b": spaces.Tuple([spaces.Discrete(4, start=5), spaces.Box(-1, 1, (2,), np.float32)]),
        "a": spaces.MultiBinary(3),
        "c": spaces.Dict({"x": spaces.MultiDiscrete([3, 4]), "p": spaces.Box(0, 255, (2, 2), np.uint8)}),
    }
)


def layout(space: Space[Any], *, of_action: bool = False) -> Layout:
    """The layout of a space as it travels: through JSON."""
    found = layout_of(json.loads(json.dumps(space_to_data(space))), of_action=of_action)
    assert found is not None
    return found


@given(fixed_spaces(), st.integers(0, 4), st.integers(0, 2**31))
@settings(max_examples=150, deadline=None)
def test_samples_travel_as_columns_and_back(space: Space[Any], rows: int, seed: int) -> None:
    space.seed(seed)
    samples = [space.sample() for _ in range(rows)]
    columns = layout(space)
    packed = columns.stack([columns.pack(sample) for sample in samples])
    assert columns.unpack(packed, rows) == [plain(sample) for sample in samples]
    assert columns.stack([columns.pack(plain(sample)) for sample in samples]) == packed
    assert sum(map(len, packed)) == rows * columns.row_bytes


@given(fixed_spaces(), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_columns_are_read_as_arrays_without_a_copy(space: Space[Any], rows: int) -> None:
    columns = layout(space)
    samples = [space.sample() for _ in range(rows)]
    packed = columns.stack([columns.pack(sample) for sample in samples])
    arrays = columns.arrays([memoryview(column) for column in packed], rows, np)
    for row, sample in enumerate(samples):
        rebuilt = columns.assemble([array[row] for array in arrays])
        assert plain(rebuilt) == plain(sample)
    for array, leaf in zip(arrays, columns.leaves, strict=True):
        assert (array.shape, array.dtype.name) == ((rows, *leaf.shape), leaf.dtype)
        assert not array.flags.writeable
        assert not array.flags.owndata


@given(fixed_spaces(), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_a_batch_of_arrays_is_packed_as_its_rows_are(space: Space[Any], rows: int) -> None:
    columns = layout(space)
    batch = batch_space(space, rows).sample()
    packed = columns.pack_batch(batch, rows)
    values = columns.unpack(packed, rows)
    assert columns.stack([columns.pack(value) for value in values]) == packed


def test_leaves_are_counted_depth_first() -> None:
    columns = layout(NESTED)
    assert [leaf.path for leaf in columns.leaves] == [("a",), ("b", 0), ("b", 1), ("c", "p"), ("c", "x")]
    assert [leaf.name for leaf in columns.leaves] == ["a", "b.0", "b.1", "c.p", "c.x"]
    assert [leaf.wire_dtype for leaf in columns.leaves] == ["|i1", "<i8", "<f4", "|u1", "<i8"]
    assert [leaf.shape for leaf in columns.leaves] == [(3,), (), (2,), (2, 2), (2,)]
    assert [leaf.row_bytes for leaf in columns.leaves] == [3, 8, 8, 4, 16]
    assert columns.row_bytes == 39


def test_a_dict_is_counted_in_the_order_of_its_data() -> None:
    data = {"type": "Dict", "spaces": {"z": {"type": "Discrete", "n": 2}, "a": {"type": "Discrete", "n": 2}}}
    columns = layout_of(data)
    assert columns is not None
    assert [leaf.name for leaf in columns.leaves] == ["z", "a"]


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        ({"type": "Box", "low": 0, "high": 1, "shape": [2, 3]}, "float32", (2, 3)),
        ({"type": "Box", "low": 0, "high": 1, "shape": [], "dtype": "float16"}, "float16", ()),
        ({"type": "Discrete", "n": 3}, "int64", ()),
        ({"type": "Discrete", "n": 3, "dtype": "int8"}, "int8", ()),
        ({"type": "MultiDiscrete", "nvec": [[2, 3], [4, 5]]}, "int64", (2, 2)),
        ({"type": "MultiDiscrete", "nvec": []}, "int64", (0,)),
        ({"type": "MultiBinary", "n": 4}, "int8", (4,)),
        ({"type": "MultiBinary", "n": [2, 2]}, "int8", (2, 2)),
        ({"type": "Box", "low": False, "high": True, "shape": [2], "dtype": "bool"}, "bool", (2,)),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_the_leaf_of_each_space(data: dict[str, Any], dtype: str, shape: tuple[int, ...]) -> None:
    found = layout_of(data)
    assert found is not None
    (leaf,) = found.leaves
    assert (leaf.dtype, leaf.shape, leaf.path, leaf.name) == (dtype, shape, (), "")


@pytest.mark.parametrize(
    "data",
    [
        {"type": "Text", "max_length": 3},
        {"type": "Sequence", "space": {"type": "Discrete", "n": 2}},
        {"type": "OneOf", "spaces": [{"type": "Discrete", "n": 2}]},
        {"type": "Graph", "node_space": {"type": "Discrete", "n": 2}, "edge_space": None},
        {"type": "Tuple", "spaces": [{"type": "Text", "max_length": 3}, {"type": "Discrete", "n": 2}]},
        {"type": "Dict", "spaces": {"a": {"type": "Discrete", "n": 2}, "b": {"type": "Text", "max_length": 3}}},
        {"type": "Box", "low": 0, "high": 1, "shape": [2], "dtype": "complex64"},
        {"type": "SomethingElse"},
    ],
    ids=str,
)
def test_a_space_without_a_fixed_shape_has_no_layout(data: dict[str, Any]) -> None:
    assert layout_of(data) is None


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": ["Box"]},
        {"type": "Box"},
        {"type": "Box", "shape": [-1]},
        {"type": "Box", "shape": [1.5]},
        {"type": "Box", "shape": [True]},
        {"type": "Box", "shape": 3},
        {"type": "Box", "shape": [2], "dtype": ["int8"]},
        {"type": "Box", "shape": [1] * 40},
        {"type": "Box", "shape": [2**40]},
        {"type": "Box", "shape": [0, 2**40]},
        {"type": "MultiBinary", "n": "four"},
        {"type": "Dict", "spaces": [1]},
        {"type": "Tuple", "spaces": [1]},
    ],
    ids=str,
)
def test_data_that_is_no_space_is_a_typed_error(data: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        layout_of(data)


def test_a_space_that_holds_itself_is_a_typed_error() -> None:
    data: dict[str, Any] = {"type": "Tuple"}
    data["spaces"] = [data]
    with pytest.raises(ConfigurationError):
        layout_of(data)


def right() -> tuple[Layout, list[Any]]:
    columns = layout(NESTED)
    return columns, list(columns.stack([columns.pack(NESTED.sample()) for _ in range(2)]))


@pytest.mark.parametrize("fault", ["short", "long", "missing", "extra", "rows"])
def test_columns_of_another_size_are_refused(fault: str) -> None:
    columns, packed = right()
    columns.check(packed, 2)
    rows = 2
    if fault == "short":
        packed[3] = packed[3][:-1]
    elif fault == "long":
        packed[3] += b"\0"
    elif fault == "missing":
        packed.pop()
    elif fault == "extra":
        packed.append(b"")
    else:
        rows = 3
    for read in (columns.check, columns.unpack, lambda given, count: columns.arrays(given, count, np)):
        with pytest.raises(ProtocolFailure):
            read(packed, rows)


def test_booleans_beyond_0_and_1_are_refused() -> None:
    columns = layout_of({"type": "Box", "low": False, "high": True, "shape": [2], "dtype": "bool"})
    assert columns is not None
    assert columns.unpack([b"\0\1\1\0"], 2) == [[False, True], [True, False]]
    with pytest.raises(ProtocolFailure):
        columns.arrays([b"\0\1\2\0"], 2, np)


BAD_VALUES: list[Any] = [
    None,
    [],
    {},
    {"b": (5, [0.0, 0.0]), "a": [0, 1, 0]},
    {"b": (5,), "a": [0, 1, 0], "c": {"x": [0, 0], "p": [[0, 0], [0, 0]]}},
    {"b": 5, "a": [0, 1, 0], "c": {"x": [0, 0], "p": [[0, 0], [0, 0]]}},
    {"b": (5, [0.0]), "a": [0, 1, 0], "c": {"x": [0, 0], "p": [[0, 0], [0, 0]]}},
    {"b": ("five", [0.0, 0.0]), "a": [0, 1, 0], "c": {"x": [0, 0], "p": [[0, 0], [0, 0]]}},
    {"b": (5, [0.0, 0.0]), "a": [0, 1, 0], "c": {"x": [0, 0], "p": [[0, 0], [0, 256]]}},
    {"b": (5, [0.0, 0.0]), "a": [0, 1, 0], "c": {"x": [0, 0], "p": np.zeros((2, 3))}},
]


@pytest.mark.parametrize("value", BAD_VALUES, ids=[str(i) for i in range(len(BAD_VALUES))])
def test_a_value_that_does_not_fit_is_refused_as_what_it_is(value: Any) -> None:
    with pytest.raises(InvalidObservation):
        layout(NESTED).pack(value)
    with pytest.raises(InvalidAction):
        layout(NESTED, of_action=True).pack(value)


def test_the_refusal_names_the_leaf() -> None:
    with pytest.raises(InvalidObservation, match=r"c\.p"):
        layout(NESTED).pack(BAD_VALUES[8])
    with pytest.raises(InvalidObservation, match="whole"):
        layout(spaces.Discrete(3)).pack("a")


@pytest.mark.parametrize(
    "value",
    [np.zeros((2, 2), np.float32), np.zeros((3, 1), np.float32), [0.0, 0.0, 0.0], None],
    ids=["too few rows", "another shape", "no array", "nothing"],
)
def test_a_batch_of_another_shape_is_refused(value: Any) -> None:
    with pytest.raises(InvalidObservation):
        layout(spaces.Box(0, 1, (2,))).pack_batch(value, 3)


def test_a_numpy_array_is_as_good_as_a_tuple() -> None:
    columns = layout(spaces.Tuple([spaces.Discrete(3), spaces.Discrete(3)]))
    assert columns.pack(np.array([1, 2])) == columns.pack((1, 2))


def test_nan_and_the_infinities_travel() -> None:
    columns = layout(spaces.Box(-np.inf, np.inf, (3,), np.float32))
    (value,) = columns.unpack(columns.stack([columns.pack([math.nan, math.inf, -math.inf])]), 1)
    assert math.isnan(value[0])
    assert value[1:] == [math.inf, -math.inf]


def test_a_batch_has_the_form_that_was_agreed_on() -> None:
    columns = layout(spaces.Discrete(3))
    check_batch(Batch(columns=[bytes(16)]), columns, 2)
    check_batch(Batch(values=[1, 2]), None, 2)
    for batch, agreed, rows in [
        (Batch(columns=[bytes(16)]), None, 2),
        (Batch(values=[1, 2]), columns, 2),
        (Batch(columns=[bytes(16)]), columns, 3),
        (Batch(values=[1, 2]), None, 3),
    ]:
        with pytest.raises(ProtocolFailure):
            check_batch(batch, agreed, rows)


def test_rewards_travel_with_all_their_bits() -> None:
    rewards = (0.1, -0.0, math.inf, 1e308)
    packed = pack_rewards(rewards)
    assert tuple(unpack_reward(packed, row) for row in range(len(rewards))) == rewards
    assert pack_rewards([1.0]) == b"\0\0\0\0\0\0\xf0\x3f"
