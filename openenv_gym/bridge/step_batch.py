"""One step of all lanes: split into actions before it, put together from rows after it."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector.utils import iterate
from openenv_gym_protocol.autoreset import End
from openenv_gym_protocol.errors import InvalidAction

from openenv_gym.bridge.batch import batch_infos
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.rows import Row


class StepBatch:
    """What a step returns, filled lane by lane.

    Attributes:
        rewards: float64, one for each lane.
        terminations: bool, one for each lane.
        truncations: bool, one for each lane.
        finished: The lanes that have to be reset within this step.
    """

    def __init__(self, count: int) -> None:
        self.rewards = np.zeros(count, np.float64)
        self.terminations = np.zeros(count, np.bool_)
        self.truncations = np.zeros(count, np.bool_)
        self.finished: list[int] = []
        self._count = count
        self._infos: list[tuple[int, dict[str, Any]]] = []

    def add_step(self, lane: int, row: Row, end: End) -> None:
        """Takes a lane's step."""
        self.rewards[lane] = row.reward
        self.terminations[lane], self.truncations[lane] = end.terminated, end.truncated
        if end.reset_now:
            self.finished.append(lane)
            self._infos.append((lane, {"final_obs": row.observation, "final_info": row.info}))
        else:
            self._infos.append((lane, row.info))

    def add_reset(self, lane: int, row: Row) -> None:
        """Takes a lane's reset in place of a step: no reward and no flag."""
        self._infos.append((lane, row.info))

    def add_new_episode(self, lane: int, row: Row) -> None:
        """Takes the reset of a lane that finished in this step."""
        self._infos.append((lane, row.info))

    def infos(self) -> dict[str, Any]:
        """The infos of all lanes, with masks."""
        return batch_infos(self._count, self._infos)


def split_actions(batched: Space[Any], single: Space[Any], actions: Any, count: int) -> list[Any]:
    """One action for each lane.

    Args:
        batched: The space of all actions together.
        single: The space of one.
        actions: A value of ``batched``, or a list of single actions.
        count: How many lanes there are.

    Raises:
        TypeError: They cannot be told apart.
        ValueError: There are more or fewer than lanes.
    """
    if isinstance(actions, str):
        raise TypeError(f"One text {actions!r:.80} is no batch of actions; pass a list or tuple of {count} texts.")
    is_list_of_dicts = isinstance(single, spaces.Dict) and isinstance(actions, list | tuple)
    found = list(actions if is_list_of_dicts else iterate(batched, actions))
    if len(found) != count:
        raise ValueError(f"{len(found)} actions were given for {count} environments.")
    return found


def encode_action(interface: Interface, lane: int, action: Any) -> dict[str, Any]:
    """Writes a lane's action.

    Raises:
        InvalidAction: It is outside its space; the message names the lane.
    """
    try:
        return interface.encode_action(action)
    except InvalidAction as error:
        error.lane = lane
        error.args = (f"{error.message} [lane {lane}]",)
        raise
