"""The two containers that Gymnasium's own lack: sequences of bounded length, and ``OneOf`` under shared memory."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory
from openenv_gym_protocol.gymnasium_spaces import data_to_space, register, space_to_data

from openenv_gym.bridge.spaces.live_batch import LiveBatch, as_int32


class BoundedSequence(spaces.Sequence):
    """Tuples of elements of one space, within a range of lengths."""

    def __init__(
        self,
        space: spaces.Space[Any],
        min_length: int = 0,
        max_length: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(space, seed=seed)
        self.min_length = min_length
        self.max_length = max_length

    def sample(self, mask: Any = None, probability: Any = None) -> tuple[Any, ...]:
        """Draws a tuple of at most 8 elements more than the shortest; masks work as for ``Sequence``."""
        if mask is not None or probability is not None:
            masked: tuple[Any, ...] = super().sample(mask, probability)
            return masked
        longest = self.min_length + 8 if self.max_length is None else min(self.max_length, self.min_length + 8)
        length = int(self.np_random.integers(self.min_length, longest + 1))
        return tuple(self.feature_space.sample() for _ in range(length))

    def contains(self, x: Any) -> bool:
        """Whether it is a tuple of an allowed length whose elements are in the space."""
        if not isinstance(x, tuple) or len(x) < self.min_length:
            return False
        return (self.max_length is None or len(x) <= self.max_length) and all(item in self.feature_space for item in x)

    def __repr__(self) -> str:
        return f"BoundedSequence({self.feature_space}, {self.min_length}, {self.max_length})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BoundedSequence)
            and self.feature_space == other.feature_space
            and (self.min_length, self.max_length) == (other.min_length, other.max_length)
        )


class Choice(spaces.OneOf):  # type: ignore[type-arg]  # generic from gymnasium 1.4 on only
    """``OneOf``, right under shared memory."""

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.spaces))})"


@create_shared_memory.register(Choice)
def _create_choice(space: Choice, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("i", n), tuple(create_shared_memory(part, n, ctx) for part in space.spaces)


@write_to_shared_memory.register(Choice)
def _write_choice(space: Choice, index: int, value: tuple[int, Any], shared_memory: Any) -> None:
    chosen, memories = shared_memory
    branch = int(value[0])
    write_to_shared_memory(space.spaces[branch], index, value[1], memories[branch])
    as_int32(chosen)[index] = branch


@read_from_shared_memory.register(Choice)
def _read_choice(space: Choice, shared_memory: Any, n: int = 1) -> LiveBatch:
    chosen = as_int32(shared_memory[0])
    parts = [
        read_from_shared_memory(part, memory, n) for part, memory in zip(space.spaces, shared_memory[1], strict=True)
    ]

    def read() -> tuple[tuple[Any, Any], ...]:
        return tuple(
            (np.int64(branch), _row(space.spaces[branch], parts[branch], i)) for i, branch in enumerate(chosen)
        )

    return LiveBatch(read)


def _row(space: spaces.Space[Any], batch: Any, index: int) -> Any:
    """One environment's value out of a batch, copied."""
    if isinstance(space, spaces.Dict):
        return {key: _row(part, batch[key], index) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_row(part, batch[i], index) for i, part in enumerate(space.spaces))
    value = batch[index]
    return value.copy() if isinstance(value, np.ndarray) else value


register(
    "BoundedSequence",
    BoundedSequence,
    lambda space: {
        "space": space_to_data(space.feature_space),
        "min_length": space.min_length,
        "max_length": space.max_length,
    },
    lambda data: BoundedSequence(data_to_space(data["space"]), data.get("min_length", 0), data.get("max_length")),
)
register(
    "Choice",
    Choice,
    lambda space: {"spaces": [space_to_data(part) for part in space.spaces]},
    lambda data: Choice([data_to_space(part) for part in data["spaces"]]),
)
