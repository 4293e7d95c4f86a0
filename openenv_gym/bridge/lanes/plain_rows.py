"""Tells the rows of the vector wire apart: most are steps in the midst of episodes, and stay columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.frames import REWARD_MISSING, SEED_APPLIED, SEED_UNKNOWN

from openenv_gym.bridge.lane_state import LaneStates
from openenv_gym.bridge.lanes.answers import Answer
from openenv_gym.bridge.rows import PlainRows
from openenv_gym.bridge.seeds import Seeds

_OF_THE_MIDST = [missing | seed for missing in (0, REWARD_MISSING) for seed in (0, SEED_APPLIED, SEED_UNKNOWN)]
_IS_MIDST = np.isin(np.arange(256), _OF_THE_MIDST)
"""Whether flags are those of a step that ended no episode."""
_SEED_BITS = ((False, False), (True, False), (False, True), (True, True))
"""SEED_APPLIED and the next bit, SEED_UNKNOWN, by the number that they make."""


def plain_told_apart(answer: Answer, states: LaneStates, others: set[int]) -> tuple[PlainRows | None, Sequence[int]]:
    """Tells plain rows, of which there is nothing to do for each, from all others.

    Args:
        answer: What lanes answered to a step.
        states: What is remembered of every lane.
        others: Rows that are not plain, whatever else they have.

    Returns:
        The plain rows, or None where there are none; and the places of the others.
    """
    reply: frames.Rows = answer.reply
    flags = np.frombuffer(reply.flags, np.uint8)
    rewards = np.frombuffer(reply.rewards, "<f8").astype(np.float64)
    missing = (flags & REWARD_MISSING) != 0
    lanes = np.array(answer.lanes)
    seed_applied = _seeds_applied(flags, states[answer.lanes[0]].reader.seeds)
    is_plain = states.are_plain(lanes) & (seed_applied == states.seed_applied[lanes])
    is_plain &= _IS_MIDST[flags] & np.isfinite(rewards) & ~(missing & (rewards != 0))
    if reply.infos is not None:
        is_plain &= [not info for info in reply.infos]
    is_plain[list(others)] = False
    if is_plain.all():
        return PlainRows(answer.lanes, rewards, seed_applied, missing), ()
    rest = np.flatnonzero(~is_plain).tolist()
    if not is_plain.any():
        return None, rest
    return PlainRows(lanes[is_plain].tolist(), rewards[is_plain], seed_applied[is_plain], missing[is_plain]), rest


def _seeds_applied(flags: NDArray[np.uint8], seeds: Seeds) -> NDArray[np.int64]:
    """``info["seed_applied"]`` of each row; all lanes of a link have one server, and what it says of seeds."""
    said = [seeds.meaning(applied=applied, unknown=unknown) for applied, unknown in _SEED_BITS]
    meanings: NDArray[np.int64] = np.array(said, np.int64)[flags // SEED_APPLIED % len(said)]
    return meanings
