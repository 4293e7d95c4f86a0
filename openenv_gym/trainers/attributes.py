"""Attributes of some lanes, where a vector environment has them of all lanes only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def get_of(env: Any, name: str, lanes: Sequence[int]) -> list[Any]:
    """Reads an attribute of some lanes; the errors are those of ``env.get_attr``."""
    values = env.get_attr(name)
    return [values[lane] for lane in lanes]


def set_of(env: Any, name: str, value: Any, lanes: Sequence[int]) -> None:
    """Sets an attribute of some lanes to one value; the others are set to what they have.

    The errors are those of ``env.get_attr`` and ``env.set_attr``.
    """
    count = env.num_envs
    values = [None] * count if set(lanes) == set(range(count)) else list(env.get_attr(name))
    for lane in lanes:
        values[lane] = value
    env.set_attr(name, values)
