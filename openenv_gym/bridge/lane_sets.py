"""Sets of lanes: those of a call that is about all of them are made once, and cost it nothing by the lane.

Where nothing but membership is asked for, a set is an integer with a bit for each lane: what is done to all lanes at
once then takes no longer than what is done to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


class LaneSet:
    """Some lanes of an environment, in the order of a call; made by ``lane_set``.

    Attributes:
        lanes: The lanes, each once.
        bits: A bit for each.
    """

    def __init__(self, lanes: tuple[int, ...], bits: int, index: Any = None) -> None:
        self.lanes = lanes
        self.bits = bits
        self._index = index

    @property
    def index(self) -> Any:
        """What picks the lanes' rows out of an array with a row for every lane, in their order."""
        if self._index is None:
            self._index = np.array(self.lanes, np.int64)
        return self._index

    @cached_property
    def is_ascending(self) -> bool:
        """Whether the lanes stand in the order of their numbers."""
        return all(before < after for before, after in zip(self.lanes, self.lanes[1:], strict=False))

    @cached_property
    def places(self) -> Mapping[int, int]:
        """The place of each lane among them."""
        return {lane: place for place, lane in enumerate(self.lanes)}

    def flags(self, bits: int) -> NDArray[np.bool_]:
        """A new array with a flag for each of the lanes: whether its bit is set, as no other may be."""
        flags = np.zeros(len(self.lanes), np.bool_)
        for lane in lanes_in(bits):
            flags[self.places[lane]] = True
        return flags


@lru_cache(maxsize=16)
def all_lanes(count: int) -> LaneSet:
    """All lanes of an environment of so many."""
    return LaneSet(tuple(range(count)), (1 << count) - 1, slice(None))


def lane_set(lanes: Sequence[int], count: int) -> LaneSet:
    """Some lanes of an environment of ``count``."""
    everyone = all_lanes(count)
    if lanes is everyone.lanes:
        return everyone
    chosen = tuple(lanes)
    return everyone if chosen == everyone.lanes else LaneSet(chosen, bits_of(chosen))


def bits_of(lanes: Iterable[int]) -> int:
    """A bit for each of some lanes."""
    bits = 0
    for lane in lanes:
        bits |= 1 << lane
    return bits


def lanes_in(bits: int) -> list[int]:
    """The lanes whose bits are set, ascending."""
    lanes = []
    while bits:
        lanes.append((bits & -bits).bit_length() - 1)
        bits &= bits - 1
    return lanes


def all_true(count: int) -> NDArray[np.bool_]:
    """A new array of so many true values."""
    return _true(count).copy()


@lru_cache(maxsize=16)
def _true(count: int) -> NDArray[np.bool_]:
    return np.ones(count, np.bool_)
