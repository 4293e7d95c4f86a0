"""Hypothesis strategies for spaces of a fixed shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space, spaces
from hypothesis import strategies as st
from openenv_gym_protocol.vector.array_data import DTYPES

SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


def _box(dtype: str, shape: tuple[int, ...]) -> spaces.Box:
    kind = np.dtype(dtype)
    low, high = (0, 1) if kind.kind == "b" else (0, 100) if kind.kind == "u" else (-100, 100)
    return spaces.Box(low, high, shape, kind.type)


def leaves() -> st.SearchStrategy[Space[Any]]:
    """Box of every dtype, Discrete, MultiDiscrete and MultiBinary."""
    return st.one_of(
        st.builds(_box, st.sampled_from([dtype for dtype in DTYPES if dtype != "bool"]), SHAPES),
        st.builds(lambda n, start: spaces.Discrete(n, start=start), st.integers(1, 9), st.integers(-9, 9)),
        st.lists(st.integers(1, 9), min_size=1, max_size=4).map(spaces.MultiDiscrete),
        st.sampled_from([(1,), (4,), (2, 3)]).map(spaces.MultiBinary),
    )


def fixed_spaces() -> st.SearchStrategy[Space[Any]]:
    """Leaves in Dicts and Tuples."""
    return st.recursive(
        leaves(),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(spaces.Tuple),
            st.dictionaries(st.sampled_from("zyxcba"), inner, min_size=1, max_size=3).map(spaces.Dict),
        ),
        max_leaves=5,
    )


def plain(value: Any) -> Any:
    """A space's value without numpy."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return value.tolist()
