"""Exact comparison of what environments return."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from tests.support.gymnasium_values import without_ours

NEWEST = "Taxi-v4" in gymnasium.registry
"""Whether this Gymnasium is at least 1.4: earlier ones refuse by assertions, with other words, or not at all."""


def identical(left: Any, right: Any) -> bool:
    """Whether two values have the same types, dtypes, shapes and elements; NaN equals itself."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        # Gymnasium compares and flattens a Dict by the order of its space, never by that of a value.
        return left.keys() == right.keys() and all(identical(left[key], right[key]) for key in left)
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(map(identical, left, right))
    if not isinstance(left, np.ndarray):
        return bool(left == right) or (left != left and right != right)
    if (left.shape, left.dtype) != (right.shape, right.dtype):
        return False
    if left.dtype == object:
        return all(map(identical, left.flat, right.flat))
    return np.array_equal(left, right, equal_nan=left.dtype.kind in "fc")


def identical_steps(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    """Whether what a reset or step returned is the same, but for the info keys that remote environments add."""
    return identical(ours[:-1], theirs[:-1]) and identical(without_ours(ours[-1]), theirs[-1])


def shares_anything(left: Any, right: Any) -> bool:
    """Whether two values have a dict, a list or the memory of an array in common."""
    if isinstance(left, np.ndarray):
        return any(np.may_share_memory(left, array) for array in _arrays(right))
    if isinstance(left, dict | list):
        if any(left is container for container in _containers(right)):
            return True
        return any(shares_anything(item, right) for item in (left.values() if isinstance(left, dict) else left))
    return isinstance(left, tuple) and any(shares_anything(item, right) for item in left)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, tuple | list) else []


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        return [value]
    return [array for part in _parts(value) for array in _arrays(part)]


def _containers(value: Any) -> list[Any]:
    found = [value] if isinstance(value, dict | list) else []
    return found + [container for part in _parts(value) for container in _containers(part)]
