"""Spaces under the memory that AsyncVectorEnv shares with its workers."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from gymnasium import spaces
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory


def through_shared_memory(space: spaces.Space[Any], count: int, steps: list[list[Any]]) -> list[Any]:
    """What AsyncVectorEnv would return: it reads the views once, and copies them after every write."""
    memory = create_shared_memory(space, count)
    view = read_from_shared_memory(space, memory, count)
    seen = []
    for values in steps:
        for index, value in enumerate(values):
            write_to_shared_memory(space, index, value, memory)
        seen.append(deepcopy(view))
    return seen
