"""One step of all lanes: split into actions before it, put together from rows after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray
from openenv_gym_protocol.errors import InvalidAction

from openenv_gym.bridge.batch import batch_infos
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.rows import Result


class StepBatch(NamedTuple):
    """What a step returns besides the observations.

    Attributes:
        rewards: float64, one for each lane.
        terminations: bool, one for each lane.
        truncations: bool, one for each lane.
        infos: The infos of all lanes, with masks.
    """

    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: dict[str, Any]


def step_batch(results: Sequence[Result]) -> StepBatch:
    """Puts the results of lanes together, in their order."""
    ended = [
        (lane, {"final_obs": result.final.observation, "final_info": result.final.info})
        for lane, result in enumerate(results)
        if result.final is not None
    ]
    infos = [(lane, result.info) for lane, result in enumerate(results)]
    return StepBatch(
        np.array([result.reward for result in results], np.float64),
        np.array([result.terminated for result in results], np.bool_),
        np.array([result.truncated for result in results], np.bool_),
        batch_infos(len(results), [*ended, *infos]),
    )


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
        InvalidAction: It is outside its space; ``lane`` says whose.
    """
    try:
        return interface.encode_action(action)
    except InvalidAction as error:
        error.lane = lane
        raise
