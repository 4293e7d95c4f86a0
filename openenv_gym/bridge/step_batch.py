"""One step of all lanes: split into actions before it, put together from rows after it."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray
from openenv_gym_protocol.errors import InvalidAction

from openenv_gym.bridge.batch import batch_infos
from openenv_gym.bridge.infos import REWARD_MISSING, SEED_APPLIED
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.rows import PlainRows, Result

_OF_ARRAYS = (spaces.Box, spaces.MultiDiscrete)
"""The batched spaces whose values are one array, with an action in each row."""

_OF_ALL = (SEED_APPLIED, REWARD_MISSING)
"""The keys that every info has."""


class ActionArray(Mapping[int, Any]):
    """The actions of lanes, in one array.

    Args:
        lanes: The lanes, ascending.
        array: A row for each, the caller's own: it may change after the call.
    """

    def __init__(self, lanes: Sequence[int], array: NDArray[Any]) -> None:
        self.lanes = lanes
        self.array = array

    def __getitem__(self, lane: int) -> Any:
        return self.array[self._places[lane]]

    def __iter__(self) -> Iterator[int]:
        return iter(self.lanes)

    def __len__(self) -> int:
        return len(self.lanes)

    def items(self) -> ItemsView[int, Any]:
        """The lanes and their actions."""
        return dict(zip(self.lanes, self.array, strict=True)).items()

    def places(self, lanes: Iterable[int]) -> list[int]:
        """The rows of some of the lanes."""
        return [self._places[lane] for lane in lanes]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {lane: place for place, lane in enumerate(self.lanes)}


def lane_actions(batched: Space[Any], single: Space[Any], actions: Any, lanes: Sequence[int]) -> Mapping[int, Any]:
    """The action of each lane.

    Args:
        batched: The space of all actions together.
        single: The space of one.
        actions: A value of ``batched``, or a list of single actions.
        lanes: The lanes, in the order of the actions.

    Raises:
        TypeError, InvalidAction, ValueError: As ``split_actions``.
    """
    is_array = type(actions) is np.ndarray and isinstance(batched, _OF_ARRAYS)
    if is_array and actions.shape == (len(lanes), *(single.shape or ())) and list(lanes) == sorted(lanes):
        return ActionArray(lanes, actions)
    return dict(zip(lanes, split_actions(batched, single, actions, len(lanes)), strict=True))


def actions_of(actions: Mapping[int, Any], lanes: Sequence[int]) -> Mapping[int, Any]:
    """Those of some of the lanes."""
    if len(lanes) == len(actions):
        return actions
    if isinstance(actions, ActionArray):
        return ActionArray(lanes, actions.array[actions.places(lanes)])
    return {lane: actions[lane] for lane in lanes}


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
    count = len(plain.lanes)
    terminations, truncations = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    infos: dict[str, Any] = {}
    if single:
        at, results = list(single), list(single.values())
        terminations[at] = [result.terminated for result in results]
        truncations[at] = [result.truncated for result in results]
        plain.rewards[at] = [result.reward for result in results]
        plain.seed_applied[at] = [result.info[SEED_APPLIED] for result in results]
        plain.reward_missing[at] = [result.info[REWARD_MISSING] for result in results]
        infos = _single_infos(count, single)
    if count:
        # What every info has is a column already.
        for key, column in ((SEED_APPLIED, plain.seed_applied), (REWARD_MISSING, plain.reward_missing)):
            infos[key], infos[f"_{key}"] = column, np.ones(count, np.bool_)
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
