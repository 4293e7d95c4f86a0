"""One step of all lanes: split into actions before it, put together from rows after it."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray
from openenv_gym_protocol.errors import InvalidAction

from openenv_gym.bridge.batch import batch_infos
from openenv_gym.bridge.infos import REWARD_MISSING, SEED_APPLIED
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_sets import LaneSet, all_true
from openenv_gym.bridge.rows import PlainRows, Result

_OF_ARRAYS = (spaces.Box, spaces.MultiDiscrete)
"""The batched spaces whose values are one array, with an action in each row."""

_OF_ALL = (SEED_APPLIED, REWARD_MISSING)
"""The keys that every info has."""


class ActionArray(Mapping[int, Any]):
    """The actions of lanes, in one array.

    Args:
        chosen: The lanes, ascending.
        array: A row for each, the caller's own: it may change after the call.
    """

    def __init__(self, chosen: LaneSet, array: NDArray[Any]) -> None:
        self.lanes = chosen.lanes
        self.array = array
        self._chosen = chosen

    def __getitem__(self, lane: int) -> Any:
        return self.array[self._chosen.places[lane]]

    def __iter__(self) -> Iterator[int]:
        return iter(self.lanes)

    def __len__(self) -> int:
        return len(self.lanes)

    def items(self) -> ItemsView[int, Any]:
        """The lanes and their actions."""
        return dict(zip(self.lanes, self.array, strict=True)).items()

    def places(self, lanes: Iterable[int]) -> list[int]:
        """The rows of some of the lanes."""
        return [self._chosen.places[lane] for lane in lanes]

    def of(self, chosen: LaneSet) -> ActionArray:
        """The actions of some of the lanes."""
        return ActionArray(chosen, self.array[self.places(chosen.lanes)])


def lane_actions(batched: Space[Any], single: Space[Any], actions: Any, chosen: LaneSet) -> Mapping[int, Any]:
    """The action of each lane.

    Args:
        batched: The space of all actions together.
        single: The space of one.
        actions: A value of ``batched``, or a list of single actions.
        chosen: The lanes, in the order of the actions.

    Raises:
        TypeError, InvalidAction, ValueError: As ``split_actions``.
    """
    count = len(chosen.lanes)
    is_array = type(actions) is np.ndarray and isinstance(batched, _OF_ARRAYS)
    if is_array and actions.shape == (count, *(single.shape or ())) and chosen.is_ascending:
        return ActionArray(chosen, actions)
    return dict(zip(chosen.lanes, split_actions(batched, single, actions, count), strict=True))


def actions_of(actions: Mapping[int, Any], chosen: LaneSet) -> Mapping[int, Any]:
    """Those of some of the lanes."""
    if len(chosen.lanes) == len(actions):
        return actions
    return actions.of(chosen) if isinstance(actions, ActionArray) else {lane: actions[lane] for lane in chosen.lanes}


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


def step_batch(single: Mapping[int, Result], plain: PlainRows) -> StepBatch:
    """Puts the results of lanes together.

    Args:
        single: Results by their places in the batch.
        plain: A row for each place; where a single result stands, it is that which counts. It becomes the batch's.
    """
    count = len(plain.chosen.lanes)
    terminations, truncations = plain.chosen.flags(plain.terminated), plain.chosen.flags(plain.truncated)
    infos: dict[str, Any] = {}
    if single:
        for place, result in single.items():
            terminations[place], truncations[place] = result.terminated, result.truncated
            plain.rewards[place] = result.reward
            plain.seed_applied[place] = result.info[SEED_APPLIED]
            plain.reward_missing[place] = result.info[REWARD_MISSING]
        infos = _single_infos(count, single)
    if count:
        # What every info has is a column already.
        for key, column in zip(_OF_ALL, (plain.seed_applied, plain.reward_missing), strict=True):
            infos[key], infos[f"_{key}"] = column, all_true(count)
    return StepBatch(plain.rewards, terminations, truncations, infos)


def _single_infos(count: int, single: Mapping[int, Result]) -> dict[str, Any]:
    infos: list[tuple[int, dict[str, Any]]] = []
    for place, result in single.items():
        if result.final is not None:
            infos.append((place, {"final_obs": result.final.observation, "final_info": result.final.info}))
        if len(result.info) > len(_OF_ALL):
            infos.append((place, {key: value for key, value in result.info.items() if key not in _OF_ALL}))
    return batch_infos(count, infos) if infos else {}


def split_actions(batched: Space[Any], single: Space[Any], actions: Any, count: int) -> list[Any]:
    """One action for each lane.

    Args:
        batched: The space of all actions together.
        single: The space of one.
        actions: A value of ``batched``, or a list of single actions.
        count: How many lanes there are.

    Raises:
        TypeError: They cannot be told apart.
        InvalidAction: They are a dict with other keys than the space's.
        ValueError: There are more or fewer than lanes.
    """
    if isinstance(actions, str):
        raise TypeError(f"One text {actions!r:.80} is no batch of actions; pass a list or tuple of {count} texts.")
    if isinstance(actions, Mapping):
        _check_keys(batched, actions)
    is_list_of_dicts = isinstance(single, spaces.Dict) and isinstance(actions, list | tuple)
    try:
        found = list(actions if is_list_of_dicts else iterate(batched, actions))
    except TypeError:
        raise TypeError(
            f"{actions!r:.80} is no batch of actions: pass one action for each of the {count} environments."
        ) from None
    if len(found) != count:
        raise ValueError(f"{len(found)} actions were given for {count} environments.")
    return found


def _check_keys(space: Space[Any], actions: Mapping[Any, Any]) -> None:
    """Refuses what taking a dict apart would drop without a word."""
    if not isinstance(space, spaces.Dict):
        raise TypeError(f"A dict is no batch of actions of {space}: pass the actions themselves.")
    strangers = [key for key in actions if key not in space.spaces]
    if strangers:
        raise InvalidAction(f"The actions have unknown keys {strangers!r:.80}. Known: {', '.join(space.spaces)}.")
    for key, part in actions.items():
        if isinstance(part, Mapping):
            _check_keys(space.spaces[key], part)


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
