"""Tells the rows of the vector wire apart: most are steps in the midst of episodes, and stay columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.bodies import Seeding
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.array_data import are_all
from openenv_gym_protocol.vector.frames import REWARD_MISSING, SEED_APPLIED, SEED_UNKNOWN

from openenv_gym.bridge.lane_sets import LaneSet, bits_of, lane_set
from openenv_gym.bridge.lane_state import LaneStates
from openenv_gym.bridge.lanes.answers import Answer
from openenv_gym.bridge.rows import PlainRows
from openenv_gym.bridge.seeds import Seeds

_OF_THE_MIDST = [missing | seed for missing in (0, REWARD_MISSING) for seed in (0, SEED_APPLIED, SEED_UNKNOWN)]
# Tables for bytes.translate, with which many flags are read as quickly as one.
_MIDST = bytes([flags in _OF_THE_MIDST for flags in range(256)])
"""Whether flags are those of a step that ended no episode."""
_MISSING = bytes([bool(flags & REWARD_MISSING) for flags in range(256)])
"""Whether they say that there is no reward."""
_REWARD = np.dtype("<f8")


class PlainRowsReader:
    """Tells plain rows, of which there is nothing to do for each, from all others, for the lanes of one server."""

    def __init__(self) -> None:
        self._flags: _Flags | None = None

    def read(
        self, answer: Answer, states: LaneStates, others: Collection[int]
    ) -> tuple[PlainRows | None, Sequence[int]]:
        """Reads what lanes answered to a step.

        Args:
            answer: The answer.
            states: What is remembered of every lane.
            others: Rows that are not plain, whatever else they have.

        Returns:
            The plain rows, or None where there are none; and the places of the others.
        """
        reply: frames.Rows = answer.reply
        lanes = lane_set(answer.lanes, len(states))
        flags = self._flags_of(reply.flags, lanes, states)
        rewards = np.frombuffer(reply.rewards, _REWARD)
        may_be_plain = flags.are_plain
        if flags.has_missing:
            may_be_plain = may_be_plain & ~(flags.missing & (rewards != 0))
        if reply.infos is not None:
            may_be_plain = may_be_plain & [not info for info in reply.infos]
        if others:
            may_be_plain = may_be_plain.copy()
            may_be_plain[list(others)] = False
        return plain_rows(lanes, states, may_be_plain, rewards, flags.seed_applied, flags.missing)

    def _flags_of(self, data: bytes, lanes: LaneSet, states: LaneStates) -> _Flags:
        """Reads flags; the same ones of the same lanes, as most steps have them, are read once."""
        of = (data, lanes.lanes, states.version)
        known = self._flags
        if known is None or known.states is not states or known.of != of:
            known = self._flags = _flags(of, lanes, states)
        return known


def plain_rows(
    lanes: LaneSet,
    states: LaneStates,
    may_be_plain: NDArray[np.bool_],
    rewards: NDArray[np.float64],
    seed_applied: NDArray[np.integer[Any]],
    reward_missing: NDArray[np.bool_],
) -> tuple[PlainRows | None, Sequence[int]]:
    """Tells plain rows from others by what holds on either wire.

    Args:
        lanes: The lanes of the rows.
        states: What is remembered of every lane.
        may_be_plain: Whether each row is plain, as far as the wire and what is remembered say it.
        rewards: The rewards, as they came.
        seed_applied: As ``info["seed_applied"]`` has it.
        reward_missing: Whether there is none.

    Returns:
        The plain rows, or None where there are none; and the places of the others.
    """
    is_plain = may_be_plain & np.isfinite(rewards)
    is_before_the_limit = states.are_before_the_limit(lanes)
    if is_before_the_limit is not None:
        is_plain &= is_before_the_limit
    if are_all(is_plain):
        return PlainRows(lanes, 0, rewards, seed_applied, reward_missing), ()
    others = (~is_plain).nonzero()[0].tolist()
    if len(others) == len(is_plain):
        return None, others
    not_plain = bits_of([lanes.lanes[row] for row in others])
    return PlainRows(lanes, not_plain, rewards, seed_applied, reward_missing), others


class _Flags(NamedTuple):
    """The flags of rows.

    Attributes:
        of: What they were read from,
        states: with what was remembered of the lanes.
        are_plain: Whether they are those of a plain step, as far as flags say it.
        seed_applied: What they say of seeds, as ``info["seed_applied"]`` has it.
        missing: Whether they say that there is no reward.
        has_missing: Whether any does.
    """

    of: tuple[bytes, tuple[int, ...], int]
    states: LaneStates
    are_plain: NDArray[np.bool_]
    seed_applied: NDArray[np.int8]
    missing: NDArray[np.bool_]
    has_missing: bool


def _flags(of: tuple[bytes, tuple[int, ...], int], lanes: LaneSet, states: LaneStates) -> _Flags:
    flags = of[0]
    # All lanes of a link have one server, and what it says of seeds.
    seeds = _seeds_applied(states[lanes.lanes[0]].reader.seeds.seeding.seed_supported)
    seed_applied = np.frombuffer(flags.translate(seeds), np.int8)
    missing = flags.translate(_MISSING)
    is_midst = np.frombuffer(flags.translate(_MIDST), np.bool_)
    are_plain = states.steady[lanes.index] & (seed_applied == states.seed_applied[lanes.index])
    are_plain &= is_midst
    return _Flags(of, states, are_plain, seed_applied, np.frombuffer(missing, np.bool_), 1 in missing)


@lru_cache(maxsize=3)
def _seeds_applied(supported: bool | None) -> bytes:
    """``info["seed_applied"]`` by a row's flags, of a server that says this of its support of seeds; int8."""
    seeds = Seeds()
    seeds.seeding = Seeding(seed_supported=supported)
    said = [
        seeds.meaning(applied=bool(flags & SEED_APPLIED), unknown=bool(flags & SEED_UNKNOWN)) for flags in range(256)
    ]
    return np.array(said, np.int8).tobytes()
