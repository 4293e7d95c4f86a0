"""Batches that live in memory shared between processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class LiveBatch(Sequence[Any]):
    """A batch that is read from shared memory whenever it is looked at.

    AsyncVectorEnv reads its observations once, as views into the memory, and copies them after every step. A copy
    of this is the tuple of what the memory holds then.
    """

    def __init__(self, read: Callable[[], tuple[Any, ...]]) -> None:
        self._read = read

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())

    def __eq__(self, other: object) -> bool:
        return self._read() == (other._read() if isinstance(other, LiveBatch) else other)

    def __repr__(self) -> str:
        return repr(self._read())

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[Any, ...]:
        return self._read()


def as_int32(memory: Any) -> NDArray[np.int32]:
    """A shared array of int32 as numpy sees it, without copying."""
    return np.frombuffer(memory.get_obj(), dtype=np.int32)
