"""Reads the rows of the vector wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.errors import InvalidObservation, OpenEnvGymError, UnexpectedReply
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.columns import unpack_rewards
from openenv_gym_protocol.vector.frames import (
    RESET_ROW,
    REWARD_MISSING,
    SEED_APPLIED,
    SEED_UNKNOWN,
    TERMINATED,
    TRUNCATED,
    Batch,
)

from openenv_gym.bridge.columns import ObservationReader, with_arrays
from openenv_gym.bridge.lane_state import LaneState, LaneStates
from openenv_gym.bridge.lanes.answers import Answer
from openenv_gym.bridge.lanes.plain_rows import plain_told_apart
from openenv_gym.bridge.observations import Leaves
from openenv_gym.bridge.rows import Final, Rows, checked_reward

_SEEDS = (0, SEED_APPLIED, SEED_UNKNOWN)
_ENDS = (0, TERMINATED, TRUNCATED, TERMINATED | TRUNCATED)
_OF_RESETS = frozenset(_SEEDS)
"""The flags that a reset's row may have."""
_OF_AUTORESETS = frozenset(RESET_ROW | seed for seed in _SEEDS)
"""Those of a reset in place of a step."""
_OF_STEPS = frozenset(end | missing | seed for end in _ENDS for missing in (0, REWARD_MISSING) for seed in _SEEDS)
"""Those of a step."""


class RowsReader:
    """Reads the rows of one link.

    Args:
        observations: Reads their observations.
        autoreset: What the server does at the end of an episode.
    """

    def __init__(self, observations: ObservationReader, autoreset: AutoresetMode) -> None:
        self._observations = observations
        self._autoreset = autoreset

    def read(self, answer: Answer, states: Sequence[LaneState]) -> Rows:
        """Reads a part of a reply.

        Args:
            answer: The part, with a lane or more that succeeded.
            states: What is remembered of every lane. Of those that reset by themselves the seed is drawn.

        Raises:
            ProtocolFailure: It has not the form that was agreed on.
        """
        reply: frames.Rows = answer.reply
        count = len(answer.lanes)
        leaves, values = self._read(_required(reply.observations), count)
        finals = self._finals(reply)
        rows = Rows(errors=dict(answer.errors))
        rewards = unpack_rewards(reply.rewards)
        others: Sequence[int] = range(count)
        if leaves is not None and isinstance(states, LaneStates) and answer.call == "step":
            rows.plain, others = plain_told_apart(answer, states, {*values, *finals})
        failed = set()
        for row in others:
            lane = answer.lanes[row]
            error = self._error(reply.flags[row], rewards[row], values.get(row), finals.get(row))
            if error is None and not self._is_due(reply.flags[row], rewards[row], answer.call, states[lane]):
                error = _undue(reply.flags[row], rewards[row])
            if error is not None:
                rows.errors[lane] = error
                _note_reset(states[lane], reply.flags[row], finals.get(row))
                failed.add(row)
                continue
            rows.lanes.append(lane)
            rows.rewards.append(rewards[row])
            self._add(rows, lane, states[lane], reply, row, is_reset=answer.call == "reset", final=finals.get(row))
        kept = [row for row in range(count) if row not in failed] if failed else range(count)
        if leaves is None:
            rows.values = [values[row] for row in kept]
        else:
            rows.leaves = {path: array[kept] for path, array in leaves.items()} if failed else leaves
            rows.observed = [answer.lanes[row] for row in kept] if failed else answer.lanes
        return rows

    def _read(self, batch: Batch, count: int) -> tuple[Leaves | None, dict[int, Any]]:
        """Returns the leaves, and the value or the error of each row; with leaves, the errors alone."""
        reader = self._observations
        leaves = reader.leaves(batch, count)
        chosen = range(count) if leaves is None else reader.outside(leaves)
        values = dict(zip(chosen, reader.values(batch, chosen, count), strict=True)) if chosen else {}
        if leaves is not None:
            values = {row: value if isinstance(value, OpenEnvGymError) else _outside() for row, value in values.items()}
        return leaves, values

    def _finals(self, reply: frames.Rows) -> dict[int, Any]:
        """The final observation and its metadata of each row that has one; an error where it cannot be read."""
        if reply.final is None:
            return {}
        rows = reply.final.rows
        leaves, values = self._read(reply.final.observations, len(rows))
        infos: Sequence[Any] = reply.final.infos or [{}] * len(rows)
        if leaves is not None:
            values = {i: values.get(i) or self._observations.row(leaves, i) for i in range(len(rows))}
        return {
            row: values[i] if isinstance(values[i], OpenEnvGymError) else (values[i], with_arrays(infos[i]))
            for i, row in enumerate(rows)
        }

    def _error(self, flags: int, reward: float, value: Any, final: Any) -> OpenEnvGymError | None:
        for each in (value, final):
            if isinstance(each, OpenEnvGymError):
                return each
        try:
            checked_reward(reward)
        except UnexpectedReply as error:
            return error
        is_over = flags & (TERMINATED | TRUNCATED) and not flags & RESET_ROW
        if (final is not None) != bool(is_over and self._autoreset is AutoresetMode.SAME_STEP):
            return UnexpectedReply("The server's row ended an episode without, or had without its end, a final one.")
        return None

    def _is_due(self, flags: int, reward: float, call: str, state: LaneState) -> bool:
        """Whether the flags and the reward can be those of what the lane had to do."""
        if call == "reset":
            return flags in _OF_RESETS and reward == 0
        is_over = state.rules.is_over
        if flags & RESET_ROW:
            is_due = is_over or (state.is_in_doubt and self._autoreset is not AutoresetMode.DISABLED)
            return is_due and flags in _OF_AUTORESETS and reward == 0
        is_due = state.is_in_doubt or not is_over
        return is_due and flags in _OF_STEPS and not (flags & REWARD_MISSING and reward != 0)

    def _add(
        self, rows: Rows, lane: int, state: LaneState, reply: frames.Rows, row: int, *, is_reset: bool, final: Any
    ) -> None:
        flags = reply.flags[row]
        is_reset = is_reset or bool(flags & RESET_ROW)
        is_missing = bool(flags & REWARD_MISSING) and not is_reset
        metadata = with_arrays(reply.infos[row]) if reply.infos else {}
        if final is not None:
            observation, ended_with = final
            rows.finals[lane] = Final(observation, state.reader.info(ended_with, reward_missing=is_missing))
        _note_reset(state, flags, final)
        state.reader.seeds.told(applied=bool(flags & SEED_APPLIED), unknown=bool(flags & SEED_UNKNOWN))
        rows.terminations.append(bool(flags & TERMINATED) and not is_reset)
        rows.truncations.append(bool(flags & TRUNCATED) and not is_reset)
        rows.resets.append(is_reset)
        rows.infos.append(state.reader.info(metadata, reward_missing=is_missing and final is None))


def _note_reset(state: LaneState, flags: int, final: Any) -> None:
    if final is not None or flags & RESET_ROW:
        state.was_reset()


def _undue(flags: int, reward: float) -> OpenEnvGymError:
    return UnexpectedReply(
        f"The server's row has the flags {flags} with the reward {reward}, which this call of the lane cannot give."
    )


def _required(batch: Batch | None) -> Batch:
    assert batch is not None  # rows of lanes have observations, or they are not read
    return batch


def _outside() -> InvalidObservation:
    return InvalidObservation("The server's observation is outside the declared space.")
