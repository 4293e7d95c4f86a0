"""From rows to batches: observations as arrays, infos as arrays with masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

_PLAIN: tuple[set[type], ...] = ({bool}, {float})


def batch_observations(space: Space[Any], rows: Sequence[Any]) -> Any:
    """Stacks observations of one space into new arrays, as Gymnasium does.

    Args:
        space: The single space.
        rows: One value of it for each lane.

    Returns:
        A value of ``batch_space(space, len(rows))`` that shares no memory with the rows.
    """
    out: Any = create_empty_array(space, len(rows))
    return concatenate(space, rows, out)


def batch_infos(count: int, infos: Sequence[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """Merges the infos of lanes.

    Values of one key become an array of ``count`` with zeros where a lane has none, and ``_key`` a mask that says
    which lanes have one. Values of different kinds become an array of objects instead of being cast to the first.

    Args:
        count: How many lanes there are.
        infos: Pairs of a lane and its info; a lane may come several times, with different keys.
    """
    columns: dict[str, dict[int, Any]] = {}
    for lane, info in infos:
        for key, value in info.items():
            columns.setdefault(key, {})[lane] = value
    batched: dict[str, Any] = {}
    for key, column in columns.items():
        if key != "final_obs" and all(isinstance(value, dict) for value in column.values()):
            batched[key] = batch_infos(count, list(column.items()))
        else:
            batched[key] = _objects(count, column) if key == "final_obs" else _column(count, column)
        mask = np.zeros(count, np.bool_)
        mask[list(column)] = True
        batched[f"_{key}"] = mask
    return batched


def _column(count: int, column: dict[int, Any]) -> NDArray[Any]:
    values = list(column.values())
    if len(values) == count and (kind := _kind(values)) is not None and list(column) == list(range(count)):
        return np.array(values, kind)
    dtype = _dtype(values)
    shapes = {value.shape if isinstance(value, np.ndarray) else () for value in values}
    if dtype is None or len(shapes) != 1:
        return _objects(count, column)
    array = np.zeros((count, *shapes.pop()), dtype)
    array[list(column)] = values
    return array


def _kind(values: list[Any]) -> Any:
    """The dtype of values that are all booleans or all floats, as most are; None for anything else."""
    kinds = set(map(type, values))
    return kinds.pop() if kinds in _PLAIN else None


def _objects(count: int, column: dict[int, Any]) -> NDArray[Any]:
    array = np.full(count, None, dtype=object)
    for lane, value in column.items():
        array[lane] = value
    return array


def _dtype(values: list[Any]) -> np.dtype[Any] | None:
    """The dtype that holds all the values, or None when they are no numbers of one kind."""
    dtypes = {_dtype_of(value) for value in values}
    if None in dtypes:
        return None
    found = [dtype for dtype in dtypes if dtype is not None]
    if len(found) == 1:
        return found[0]
    if any(dtype.kind == "b" for dtype in found):
        return None  # true is not 1 to whoever reads it
    return np.result_type(*found)


def _dtype_of(value: Any) -> np.dtype[Any] | None:
    if isinstance(value, bool):
        return np.dtype(np.bool_)
    if isinstance(value, int):
        return np.dtype(np.int64) if -(2**63) <= value < 2**63 else None
    if isinstance(value, float):
        return np.dtype(np.float64)
    if isinstance(value, np.ndarray | np.number | np.bool_) and value.dtype.kind in "biuf":
        return np.dtype(value.dtype)
    return None
