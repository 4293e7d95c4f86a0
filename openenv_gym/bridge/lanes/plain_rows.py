"""Tells the rows of the vector wire apart: most say nothing but numbers, and stay columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.bodies import Seeding
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.array_data import are_all, is_any
from openenv_gym_protocol.vector.frames import (
    RESET_ROW,
    REWARD_MISSING,
    SEED_APPLIED,
    SEED_UNKNOWN,
    TERMINATED,
    TRUNCATED,
)

from openenv_gym.bridge.lane_sets import LaneSet, all_true, bits_of, lane_set
from openenv_gym.bridge.lane_state import LaneStates, Phase
from openenv_gym.bridge.lanes.answers import Answer
from openenv_gym.bridge.lanes.row_flags import OF_AUTORESETS, OF_STEPS, OF_THE_MIDST
from openenv_gym.bridge.rows import PlainRows
from openenv_gym.bridge.seeds import Seeds

# Tables for bytes.translate, with which many flags are read as quickly as one.
_MISSING = bytes([bool(flags & REWARD_MISSING) for flags in range(256)])
"""Whether flags say that there is no reward."""
_UNPAID = bytes([bool(flags & (REWARD_MISSING | RESET_ROW)) for flags in range(256)])
"""Whether the reward beside them means nothing, and has to be 0."""
_EVENTS = bytes([bool(flags & (TERMINATED | TRUNCATED | RESET_ROW)) for flags in range(256)])
"""Whether they say that an episode ended or began."""
_REWARD = np.dtype("<f8")


class PlainRowsReader:
    """Tells plain rows, of which there is little to do for each, from all others, for the lanes of one server.

    Args:
        autoreset: What the server does at the end of an episode.
    """

    def __init__(self, autoreset: AutoresetMode) -> None:
        # In SAME_STEP a row that ends an episode has the next one's first observation, and so more than numbers.
        self._phases = _phases(ends_are_plain=autoreset is not AutoresetMode.SAME_STEP)
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
        if flags.unpaid is not None and rewards[flags.unpaid].any():
            may_be_plain = may_be_plain & ~(flags.unpaid & (rewards != 0))
        if reply.infos is not None:
            may_be_plain = may_be_plain & [not info for info in reply.infos]
        if others:
            may_be_plain = may_be_plain.copy()
            may_be_plain[list(others)] = False
        plain, left = plain_rows(lanes, states, may_be_plain, rewards, flags.seed_applied, flags.missing)
        return (_with_events(plain, reply.flags, flags.events) if plain and flags.events else plain), left

    def _flags_of(self, data: bytes, lanes: LaneSet, states: LaneStates) -> _Flags:
        """Reads flags; the same ones of the same lanes, as most steps have them, are read once."""
        of = (data, lanes.lanes, states.version)
        known = self._flags
        if known is None or known.states is not states or known.of != of:
            known = self._flags = _flags(of, lanes, states, self._phases)
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


def _with_events(rows: PlainRows, flags: bytes, events: Sequence[int]) -> PlainRows:
    """The same rows, with the episodes that ended and began in them."""
    terminated = truncated = begun = 0
    for place in events:
        bit, said = 1 << rows.chosen.lanes[place], flags[place]
        if rows.others & bit:
            continue
        terminated |= bit if said & TERMINATED else 0
        truncated |= bit if said & TRUNCATED else 0
        begun |= bit if said & RESET_ROW else 0
    return rows._replace(terminated=terminated, truncated=truncated, begun=begun)


class _Flags(NamedTuple):
    """The flags of rows.

    Attributes:
        of: What they were read from,
        states: with what was remembered of the lanes.
        are_plain: Whether they are those of a plain row, as far as flags say it.
        seed_applied: What they say of seeds, as ``info["seed_applied"]`` has it.
        missing: Whether they say that there is no reward.
        unpaid: Whether the reward has to be 0, since it means nothing; None where each row has one.
        events: The places of rows in which an episode ended or began.
    """

    of: tuple[bytes, tuple[int, ...], int]
    states: LaneStates
    are_plain: NDArray[np.bool_]
    seed_applied: NDArray[np.int8]
    missing: NDArray[np.bool_]
    unpaid: NDArray[np.bool_] | None
    events: Sequence[int]


def _flags(of: tuple[bytes, tuple[int, ...], int], lanes: LaneSet, states: LaneStates, phases: bytes) -> _Flags:
    flags = of[0]
    # All lanes of a link have one server, and what it says of seeds.
    seeds = flags.translate(_seeds_applied(states[lanes.lanes[0]].reader.seeds.seeding.seed_supported))
    are_plain = _are_plain(flags.translate(phases), seeds, states, lanes)
    missing, unpaid, is_event = [
        np.frombuffer(flags.translate(table), np.bool_) for table in (_MISSING, _UNPAID, _EVENTS)
    ]
    return _Flags(
        of,
        states,
        are_plain,
        np.frombuffer(seeds, np.int8),
        missing,
        unpaid if is_any(unpaid) else None,
        is_event.nonzero()[0].tolist(),
    )


def _are_plain(due: bytes, seeds: bytes, states: LaneStates, lanes: LaneSet) -> NDArray[np.bool_]:
    """Whether rows are plain by the phases that their flags belong to, and by what these say of seeds."""
    phases, applied = states.phases[lanes.index], states.seed_applied[lanes.index]
    # Mostly so, and to compare bytes takes a twentieth of what arrays take.
    if due == phases.tobytes() and seeds == applied.tobytes():
        return all_true(len(due))
    is_due = np.frombuffer(due, np.uint8) == phases
    # What a reset's row says of seeds is new.
    are_plain: NDArray[np.bool_] = is_due & ((phases == Phase.OVER) | (np.frombuffer(seeds, np.int8) == applied))
    return are_plain


@lru_cache(maxsize=2)
def _phases(*, ends_are_plain: bool) -> bytes:
    """In which phase a lane gives a plain row with some flags; a number that is no phase: in none."""
    phases = bytearray([len(Phase)] * 256)
    for flags in OF_STEPS if ends_are_plain else OF_THE_MIDST:
        phases[flags] = Phase.RUNNING
    for flags in OF_AUTORESETS:
        phases[flags] = Phase.OVER
    return bytes(phases)


@lru_cache(maxsize=3)
def _seeds_applied(supported: bool | None) -> bytes:
    """``info["seed_applied"]`` by a row's flags, of a server that says this of its support of seeds; int8."""
    seeds = Seeds()
    seeds.seeding = Seeding(seed_supported=supported)
    said = [
        seeds.meaning(applied=bool(flags & SEED_APPLIED), unknown=bool(flags & SEED_UNKNOWN)) for flags in range(256)
    ]
    return np.array(said, np.int8).tobytes()
