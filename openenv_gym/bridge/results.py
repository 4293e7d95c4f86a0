"""What lanes reported and nobody took yet: most steps as columns, and the others one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openenv_gym.bridge.lane_sets import lane_set, lanes_in
from openenv_gym.bridge.rows import PlainRows, Result
from openenv_gym.bridge.step_batch import StepBatch, step_batch


class Results:
    """The results of the lanes of one vector environment.

    Args:
        count: How many lanes there are.

    Attributes:
        bits: A bit for each lane that has one.
    """

    def __init__(self, count: int) -> None:
        self.bits = 0
        self._count = count
        self._single: dict[int, Result] = {}
        # One row for each lane; those of lanes whose result is a single one, or that have none, mean nothing.
        self._columns = (np.zeros(count), np.zeros(count, np.int64), np.zeros(count, np.bool_))
        self._terminated = self._truncated = 0

    @property
    def lanes(self) -> list[int]:
        """The lanes that have one, ascending."""
        return lanes_in(self.bits)

    def add(self, lane: int, result: Result) -> None:
        """Adds what one lane reports."""
        self.bits |= 1 << lane
        self._single[lane] = result

    def add_plain(self, rows: PlainRows) -> None:
        """Adds the plain steps of some lanes."""
        self.bits |= rows.bits
        index = rows.chosen.index
        rewards, seed_applied, reward_missing = self._columns
        rewards[index] = rows.rewards
        seed_applied[index] = rows.seed_applied
        reward_missing[index] = rows.reward_missing
        self._terminated |= rows.terminated
        self._truncated |= rows.truncated

    def pop(self, lane: int) -> Result:
        """Takes what one lane reports of a reset that was asked for, which is never plain."""
        result = self._single.pop(lane)
        self.bits &= ~(1 << lane)
        return result

    def take(self, lanes: Sequence[int]) -> StepBatch:
        """Takes what some lanes report of a step, in new arrays in the order of the lanes."""
        chosen = lane_set(lanes, self._count)
        self.bits &= ~chosen.bits
        index = chosen.index
        rewards, seed_applied, reward_missing = self._columns
        # Of a slice too a copy.
        columns = rewards[index].copy(), seed_applied[index].copy(), reward_missing[index].copy()
        plain = PlainRows(chosen, 0, *columns, self._terminated & chosen.bits, self._truncated & chosen.bits)
        self._terminated &= ~chosen.bits
        self._truncated &= ~chosen.bits
        if not self._single:
            return step_batch({}, plain)
        places = sorted([chosen.places[lane] for lane in self._single if chosen.bits >> lane & 1])
        return step_batch({place: self._single.pop(chosen.lanes[place]) for place in places}, plain)

    def clear(self) -> None:
        """Forgets all."""
        self.bits = self._terminated = self._truncated = 0
        self._single.clear()
