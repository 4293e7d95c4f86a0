"""Compares what Gymnasium environments return: values of spaces, rewards and infos."""

from __future__ import annotations

from typing import Any

import numpy as np

OURS = ("seed_applied", "reward_missing")
"""Keys that infos of remote environments have besides."""


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, arrays by elements; NaN equals itself."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    left, right = np.asarray(left), np.asarray(right)
    if left.ndim == right.ndim == 0:
        return bool(left.item() == right.item() or (left.item() != left.item() and right.item() != right.item()))
    if left.shape != right.shape:
        return False
    if left.dtype == object or right.dtype == object:
        return all(map(same, left.flat, right.flat))
    return np.array_equal(left, right, equal_nan=left.dtype.kind in "fc" and right.dtype.kind in "fc")


def without_ours(info: dict[str, Any]) -> dict[str, Any]:
    """An info, of one environment or of many, without the keys that remote environments have besides."""
    dropped = {*OURS, *(f"_{key}" for key in OURS)}
    kept = {key: value for key, value in info.items() if key not in dropped}
    if isinstance(kept.get("final_info"), dict):
        kept["final_info"] = without_ours(kept["final_info"])
    return kept


def same_infos(ours: Any, theirs: Any) -> bool:
    """Whether infos of a remote vector environment are those of Gymnasium's, but for the keys that it has besides.

    Gymnasium gives an array the type of its first value, and so cuts fractions off where that is an integer; remote
    environments keep them.
    """
    ours = without_ours(ours)
    if ours.keys() != theirs.keys():
        return False
    for key, value in theirs.items():
        found = ours[key]
        if isinstance(value, dict):
            if not same_infos(found, value):
                return False
        elif not same(
            found.astype(value.dtype) if value.dtype.kind == "i" and found.dtype.kind == "f" else found, value
        ):
            return False
    return True
