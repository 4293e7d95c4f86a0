"""Hypothesis strategies for Gymnasium's spaces of every type, of fixed shape or not, in each other."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from hypothesis import strategies as st
from openenv_gym_protocol.vector.array_data import DTYPES

from tests.support.fixed_spaces import SHAPES

# Gymnasium 1.1 has no dtype here.
_DISCRETE_DTYPES = (
    [{"dtype": np.int32}, {"dtype": np.int64}] if "dtype" in inspect.signature(spaces.Discrete).parameters else [{}]
)


def _box(dtype: str, shape: tuple[int, ...], edges: tuple[float, float]) -> spaces.Box:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return spaces.Box(*edges, shape, kind.type)
    shape = shape or (2,)  # Gymnasium's own samples of integers of shape () are no arrays
    if kind.kind == "b":
        return spaces.Box(0, 1, shape, kind.type)
    # What is wider overflows in Gymnasium's sampling.
    low, high = int(np.iinfo(kind).min) // 4, int(np.iinfo(kind).max) // 4
    return spaces.Box(low, high, shape, kind.type)


def boxes() -> st.SearchStrategy[Space[Any]]:
    """Box of every dtype, bounded, unbounded and bounded on one side, of any shape, empty ones too."""
    edges = st.sampled_from([(-1, 1), (0.1, 0.7), (-np.inf, np.inf), (-np.inf, 3), (-2, np.inf)])
    return st.builds(_box, st.sampled_from(DTYPES), SHAPES, edges)


def discretes() -> st.SearchStrategy[Space[Any]]:
    """Discrete with any start and dtype."""
    return st.builds(
        lambda n, start, named: spaces.Discrete(n, start=start, **named),
        st.integers(1, 50),
        st.integers(-50, 50),
        st.sampled_from(_DISCRETE_DTYPES),
    )


def leaves() -> st.SearchStrategy[Space[Any]]:
    """Spaces without parts."""
    return st.one_of(
        boxes(),
        discretes(),
        st.sampled_from(
            [
                spaces.MultiDiscrete([2, 3]),
                spaces.MultiDiscrete([3, 4], dtype=np.int8),
                spaces.MultiDiscrete(np.array([[2, 3], [4, 5]]), start=np.array([[1, 0], [-1, 7]])),
            ]
        ),
        st.sampled_from([(1,), (4,), (2, 3)]).map(spaces.MultiBinary),
        st.builds(
            lambda shortest, charset: spaces.Text(9, min_length=shortest, charset=charset),
            st.integers(0, 9),
            st.sampled_from(["ab", "zya", 'é☃ "\\\n']),
        ),
    )


def graphs() -> st.SearchStrategy[Space[Any]]:
    """Graph with what every release of Gymnasium lets nodes and edges be; some draw a Discrete without its start."""
    part = st.one_of(boxes(), st.integers(1, 50).map(lambda n: spaces.Discrete(n)))
    return st.builds(spaces.Graph, part, st.none() | part)


def every_space() -> st.SearchStrategy[Space[Any]]:
    """Spaces of every type."""
    return st.recursive(
        st.one_of(leaves(), graphs()),
        lambda inner: st.one_of(
            st.dictionaries(st.sampled_from("zyxcba"), inner, min_size=1, max_size=3).map(spaces.Dict),
            st.lists(inner, min_size=1, max_size=3).map(spaces.Tuple),
            st.lists(inner, min_size=1, max_size=3).map(spaces.OneOf),
            st.builds(lambda part, stack: spaces.Sequence(part, stack=stack), inner, st.booleans()),
        ),
        max_leaves=4,
    )
