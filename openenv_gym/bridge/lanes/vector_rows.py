"""Reads the rows of the vector wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.errors import InvalidObservation, OpenEnvGymError, UnexpectedReply
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.columns import unpack_reward
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
from openenv_gym.bridge.lanes.plain_rows import PlainRowsReader
from openenv_gym.bridge.lanes.row_flags import OF_AUTORESETS, OF_RESETS, OF_STEPS
from openenv_gym.bridge.observations import Leaves
from openenv_gym.bridge.rows import Final, Result, Row, Rows, checked_reward


class RowsReader:
    """Reads the rows of one link.

    Args:
        observations: Reads their observations.
        autoreset: What the server does at the end of an episode.
    """

    def __init__(self, observations: ObservationReader, autoreset: AutoresetMode) -> None:
        self._observations = observations
        self._autoreset = autoreset
        self._plain = PlainRowsReader(autoreset)

    def read(self, answer: Answer, states: LaneStates) -> Rows:
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
        rows = Rows(leaves=leaves, errors=dict(answer.errors))
        others: Sequence[int] = range(count)
        if leaves is not None:
            rows.observed = answer.lanes
            if answer.call == "step":
                rows.plain, others = self._plain.read(answer, states, {*values, *finals})
        if others:
            self._read_others(rows, answer, states, {row: (values.get(row), finals.get(row)) for row in others})
        return rows

    def one(self, answer: Answer, state: LaneState) -> Row:
        """Reads a reply of one lane.

        Raises:
            ProtocolFailure: It has not the form that was agreed on.
            OpenEnvGymError: The row cannot be read.
        """
        reply: frames.Rows = answer.reply
        leaves, values = self._read(_required(reply.observations), 1)
        result = self._result(answer, 0, state, values.get(0), self._finals(reply).get(0))
        if isinstance(result, OpenEnvGymError):
            raise result
        observation = values[0] if leaves is None else self._observations.row(leaves, 0)
        return Row(observation, result.reward, result.terminated, result.truncated, result.info)

    def _read_others(
        self, rows: Rows, answer: Answer, states: Sequence[LaneState], found: Mapping[int, tuple[Any, Any]]
    ) -> None:
        """Adds rows that are not plain, each of which has been found to have a value and a final observation."""
        failed = set()
        for row, (value, final) in found.items():
            lane = answer.lanes[row]
            result = self._result(answer, row, states[lane], value, final)
            if isinstance(result, OpenEnvGymError):
                rows.errors[lane] = result
                failed.add(row)
                continue
            rows.lanes.append(lane)
            rows.results.append(result)
            if rows.leaves is None:
                rows.values.append(value)
        if failed and rows.leaves is not None:
            kept = [row for row in range(len(answer.lanes)) if row not in failed]
            rows.leaves = {path: array[kept] for path, array in rows.leaves.items()}
            rows.observed = [answer.lanes[row] for row in kept]

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

    def _result(self, answer: Answer, row: int, state: LaneState, value: Any, final: Any) -> Result | OpenEnvGymError:
        """Reads what one row says beside its observation, or why it cannot be believed."""
        reply: frames.Rows = answer.reply
        flags, reward = reply.flags[row], unpack_reward(reply.rewards, row)
        error = self._error(flags, reward, value, final)
        if error is None and not self._is_due(flags, reward, answer.call, state):
            error = _undue(flags, reward)
        if error is not None:
            _note_reset(state, flags, final)
            return error
        is_reset = answer.call == "reset" or bool(flags & RESET_ROW)
        is_missing = bool(flags & REWARD_MISSING) and not is_reset
        metadata = with_arrays(reply.infos[row]) if reply.infos else {}
        ended = None
        if final is not None:
            observation, ended_with = final
            ended = Final(observation, state.reader.info(ended_with, reward_missing=is_missing))
        _note_reset(state, flags, final)
        state.reader.seeds.told(applied=bool(flags & SEED_APPLIED), unknown=bool(flags & SEED_UNKNOWN))
        info = state.reader.info(metadata, reward_missing=is_missing and final is None)
        terminated, truncated = bool(flags & TERMINATED), bool(flags & TRUNCATED)
        return Result(reward, terminated and not is_reset, truncated and not is_reset, info, ended, is_reset)

    def _error(self, flags: int, reward: float, value: Any, final: Any) -> OpenEnvGymError | None:
        if isinstance(value, OpenEnvGymError) or isinstance(final, OpenEnvGymError):
            return value if isinstance(value, OpenEnvGymError) else final
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
            return flags in OF_RESETS and reward == 0
        is_over = state.rules.is_over
        if flags & RESET_ROW:
            is_due = is_over or (state.is_in_doubt and self._autoreset is not AutoresetMode.DISABLED)
            return is_due and flags in OF_AUTORESETS and reward == 0
        is_due = state.is_in_doubt or not is_over
        return is_due and flags in OF_STEPS and not (flags & REWARD_MISSING and reward != 0)


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
