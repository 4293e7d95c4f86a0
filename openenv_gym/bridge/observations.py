"""Observations of some lanes, and the last one of every lane: as arrays where the space has a fixed shape."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.gymnasium_spaces import space_to_data
from openenv_gym_protocol.vector.columns import Layout, layout_of

from openenv_gym.bridge.batch import batch_observations
from openenv_gym.bridge.lane_sets import LaneSet, all_lanes, lane_set

Leaves: TypeAlias = Mapping[tuple[str | int, ...], NDArray[Any]]
"""An array of shape ``(rows, *leaf shape)`` for each leaf of a space, by its path."""


class LastObservations:
    """The last observation of every lane.

    What comes is kept as it came, views of a frame included, and copied once: into the arrays that a caller gets.

    Args:
        space: The space of one observation.
        count: How many lanes.
    """

    def __init__(self, space: Space[Any], count: int) -> None:
        self._space = space
        self._form = array_form(space)
        self._layout = None if self._form is None else self._form.layout
        # In the machine's byte order, as every array that Gymnasium makes.
        leaves = () if self._layout is None else self._layout.leaves
        self._dtypes = [(leaf.path, np.dtype(leaf.dtype)) for leaf in leaves]
        self._values: list[Any] = [None] * count
        self._missing = all_lanes(count).bits
        self._parts: list[tuple[LaneSet, Leaves]] = []
        self._count = count

    @property
    def is_complete(self) -> bool:
        """Whether every lane has one."""
        return not self._missing

    def put(self, lanes: Sequence[int], values: Sequence[Any]) -> None:
        """Takes one value for each of some lanes."""
        if not lanes:
            return
        if self._layout is not None:
            batch = self._layout.take_apart(batch_observations(self._space, values))
            paths = [leaf.path for leaf in self._layout.leaves]
            self.put_leaves(lanes, dict(zip(paths, batch, strict=True)))
            return
        for lane, value in zip(lanes, values, strict=True):
            self._values[lane] = value
        self._missing &= ~lane_set(lanes, self._count).bits

    def put_leaves(self, lanes: Sequence[int], leaves: Leaves) -> None:
        """Takes rows of arrays, of a space of fixed shape."""
        chosen = lane_set(lanes, self._count)
        if chosen is all_lanes(self._count):
            self._parts = []
        self._parts.append((chosen, leaves))
        self._missing &= ~chosen.bits

    def batch(self, lanes: Sequence[int] | None = None) -> Any:
        """A value of the batched space, of new arrays throughout.

        Args:
            lanes: The lanes that it is about; None for all.
        """
        if self._layout is None:
            values = self._values if lanes is None else [self._values[lane] for lane in lanes]
            return batch_observations(self._space, values)
        self._forget_old()
        if lanes is not None:
            return self._layout.assemble([array[list(lanes)] for array in self._merged()])
        is_whole = len(self._parts) == 1 and self._parts[0][0] is all_lanes(self._count)
        return self._layout.assemble(self._copies() if is_whole else self._merged())

    def value(self, lane: int) -> Any:
        """One lane's value, of new objects throughout."""
        if self._layout is None:
            return copy.deepcopy(self._values[lane])
        chosen, leaves = next(part for part in reversed(self._parts) if part[0].bits >> lane & 1)
        return self.row(leaves, chosen.places[lane])

    def row(self, leaves: Leaves, row: int) -> Any:
        """The value in one row of arrays, of new objects throughout."""
        assert self._form is not None  # only spaces of fixed shape come as arrays
        return self._form.value(leaves, row)

    def _copies(self) -> list[NDArray[Any]]:
        leaves = self._parts[0][1]
        return [np.array(leaves[path], dtype=dtype) for path, dtype in self._dtypes]

    def _merged(self) -> list[NDArray[Any]]:
        merged = []
        for leaf in self._layout_of().leaves:
            array = np.zeros((self._count, *leaf.shape), leaf.dtype)
            for chosen, leaves in self._parts:
                array[chosen.index] = leaves[leaf.path]
            merged.append(array)
        return merged

    def _forget_old(self) -> None:
        """Drops parts of which nothing is the last any more: each may keep a whole frame alive."""
        if len(self._parts) == 1:
            return
        covered = 0
        kept = []
        for part in reversed(self._parts):
            if part[0].bits & ~covered:
                kept.append(part)
                covered |= part[0].bits
        self._parts = kept[::-1]

    def _layout_of(self) -> Layout:
        assert self._layout is not None  # asked for where there is one
        return self._layout


class ArrayForm:
    """How values of a space of fixed shape stand in arrays; made by ``array_form``.

    Attributes:
        layout: The leaves of the space.
    """

    def __init__(self, space: Space[Any], layout: Layout) -> None:
        self.layout = layout
        self._leaves = [
            (leaf.path, leaf.dtype, isinstance(reduce(_part, leaf.path, space), spaces.Discrete))
            for leaf in layout.leaves
        ]

    def value(self, leaves: Leaves, row: int) -> Any:
        """The value in one row, of new objects throughout."""
        return self.layout.assemble(
            [
                leaves[path][row].astype(dtype) if is_scalar else np.array(leaves[path][row], dtype)
                for path, dtype, is_scalar in self._leaves
            ]
        )


def array_form(space: Space[Any]) -> ArrayForm | None:
    """How values stand in arrays; None for a space of no fixed shape."""
    try:
        layout = layout_of(space_to_data(space))
    except ConfigurationError:
        return None  # a space of somebody else's: its values are kept as they are
    return None if layout is None else ArrayForm(space, layout)


def _part(space: Any, key: str | int) -> Any:
    return space.spaces[key]
