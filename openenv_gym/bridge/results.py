"""What lanes reported and nobody took yet: most steps as columns, and the others one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openenv_gym.bridge.rows import PlainRows, Result
from openenv_gym.bridge.step_batch import StepBatch, step_batch


class Results:
    """The results of the lanes of one vector environment.

    Args:
        count: How many lanes there are.

    Attributes:
        lanes: The lanes that have one.
    """

    def __init__(self, count: int) -> None:
        self.lanes: set[int] = set()
        self._single: dict[int, Result] = {}
        # One row for each lane; those of lanes whose result is a single one, or that have none, mean nothing.
        self._plain = PlainRows(range(count), np.zeros(count), np.zeros(count, np.int64), np.zeros(count, np.bool_))

    def add(self, lane: int, result: Result) -> None:
        """Adds what one lane reports."""
        self.lanes.add(lane)
        self._single[lane] = result

    def add_plain(self, rows: PlainRows) -> None:
        """Adds the plain steps of some lanes."""
        self.lanes.update(rows.lanes)
        at = np.asarray(rows.lanes, np.int64)
        for column, values in zip(self._plain[1:], rows[1:], strict=True):
            column[at] = values

    def pop(self, lane: int) -> Result:
        """Takes what one lane reports of a reset."""
        self.lanes.remove(lane)
        return self._single.pop(lane)

    def take(self, lanes: Sequence[int]) -> StepBatch:
        """Takes what some lanes report of a step, in new arrays in the order of the lanes."""
        self.lanes.difference_update(lanes)
        at = np.asarray(lanes, np.int64)
        _, rewards, seed_applied, reward_missing = self._plain
        plain = PlainRows(lanes, rewards[at], seed_applied[at], reward_missing[at])
        single = {place: self._single.pop(lane) for place, lane in enumerate(lanes) if lane in self._single}
        return step_batch(single, plain)

    def clear(self) -> None:
        """Forgets all."""
        self.lanes.clear()
        self._single.clear()
