"""Reads the replies of the standard wire: most are steps in the midst of episodes, and become columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_protocol.messages import ObservationReply

from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_sets import lane_set
from openenv_gym.bridge.lane_state import LaneStates, Phase
from openenv_gym.bridge.lanes.answers import Answer
from openenv_gym.bridge.lanes.plain_rows import plain_rows
from openenv_gym.bridge.observations import Leaves
from openenv_gym.bridge.rows import Rows


def read_rows(interface: Interface, answers: Sequence[Answer], states: LaneStates) -> Rows:
    """Reads answers of one lane each, with an error for each whose reply cannot be read.

    Args:
        interface: How the server's observations are read.
        answers: The answers.
        states: What is remembered of every lane.
    """
    rows = Rows()
    found: list[Answer] = []
    for answer in answers:
        if answer.errors:
            rows.errors.update(answer.errors)
        else:
            found.append(answer)
    # In the lanes' order, so that the arrays of all of them are the batch.
    found.sort(key=_first_lane)
    leaves = _leaves(interface, found)
    others: Sequence[int] = range(len(found))
    if leaves is not None:
        rows.leaves = leaves
        rows.observed = tuple([answer.lanes[0] for answer in found])
        others = _told_apart(rows, found, states)
    kept = _read_others(rows, interface, found, others, states)
    if leaves is not None and len(kept) < len(found):
        rows.leaves = {path: array[kept] for path, array in leaves.items()}
        rows.observed = [found[place].lanes[0] for place in kept]
    return rows


def _first_lane(answer: Answer) -> int:
    return answer.lanes[0]


def _leaves(interface: Interface, answers: Sequence[Answer]) -> Leaves | None:
    """The observations of all replies as arrays; None where they have to be read one by one."""
    replies = [answer.reply for answer in answers]
    if len(replies) < 2 or {*map(type, replies)} != {ObservationReply}:
        return None
    return interface.observation_leaves([reply.data.observation for reply in replies])


def _told_apart(rows: Rows, answers: Sequence[Answer], states: LaneStates) -> Sequence[int]:
    """Takes plain rows as they are.

    Returns:
        The places of the others.
    """
    assert rows.observed is not None
    told = [answer.reply.data for answer in answers]
    given = [data.reward for data in told]
    has_missing = None in given
    numbers = [0.0 if reward is None else reward for reward in given] if has_missing else given
    try:
        rewards = np.array(numbers, np.float64)
    except OverflowError:
        return range(len(answers))
    # With metadata, wherever it may stand, a row is read for itself.
    is_midst = [
        answer.call == "step" and not (data.done or data.metadata or data.observation.get("metadata"))
        for answer, data in zip(answers, told, strict=True)
    ]
    lanes = lane_set(rows.observed, len(states))
    missing: NDArray[np.bool_] = np.zeros(len(given), np.bool_)
    if has_missing:
        missing[:] = [reward is None for reward in given]
    is_plain = (states.phases[lanes.index] == Phase.RUNNING) & is_midst
    seed_applied = states.seed_applied[lanes.index]
    rows.plain, others = plain_rows(lanes, states, is_plain, rewards, seed_applied, missing)
    return others


def _read_others(
    rows: Rows, interface: Interface, answers: Sequence[Answer], places: Sequence[int], states: LaneStates
) -> Sequence[int]:
    """Reads rows each for itself.

    Returns:
        The places of all answers that could be read.
    """
    failed = set()
    for place in places:
        answer = answers[place]
        lane, is_reset = answer.lanes[0], answer.call == "reset"
        reader = states[lane].reader
        try:
            if rows.leaves is None:
                row = reader.read(interface, answer.reply, is_reset=is_reset)
            else:
                row = reader.row(None, answer.reply.data, is_reset=is_reset)
        except OpenEnvGymError as error:
            rows.errors[lane] = error
            failed.add(place)
        else:
            rows.add(lane, row, is_reset=is_reset)
    return [place for place in range(len(answers)) if place not in failed] if failed else range(len(answers))
