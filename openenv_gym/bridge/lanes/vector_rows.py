"""Reads the rows of the vector wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.errors import InvalidObservation, OpenEnvGymError, UnexpectedReply
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.columns import unpack_rewards
from openenv_gym_protocol.vector.frames import RESET_ROW, REWARD_MISSING, TERMINATED, TRUNCATED, Batch

from openenv_gym.bridge.columns import ObservationReader, plain
from openenv_gym.bridge.lane_state import LaneState
from openenv_gym.bridge.lanes.answers import Answer
from openenv_gym.bridge.observations import Leaves
from openenv_gym.bridge.rows import Final, Rows


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
        kept = []
        for row, lane in enumerate(answer.lanes):
            error = self._error(reply.flags[row], values.get(row), finals.get(row))
            if error is not None:
                rows.errors[lane] = error
                continue
            kept.append(row)
            rows.lanes.append(lane)
            rows.rewards.append(rewards[row])
            self._add(rows, lane, states[lane], reply, row, is_reset=answer.call == "reset", final=finals.get(row))
        if leaves is None:
            rows.values = [values[row] for row in kept]
        else:
            rows.leaves = leaves if len(kept) == count else {path: array[kept] for path, array in leaves.items()}
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
            row: values[i] if isinstance(values[i], OpenEnvGymError) else (values[i], plain(infos[i]))
            for i, row in enumerate(rows)
        }

    def _error(self, flags: int, value: Any, final: Any) -> OpenEnvGymError | None:
        for each in (value, final):
            if isinstance(each, OpenEnvGymError):
                return each
        is_over = flags & (TERMINATED | TRUNCATED) and not flags & RESET_ROW
        if (final is not None) != bool(is_over and self._autoreset is AutoresetMode.SAME_STEP):
            return UnexpectedReply("The server's row ended an episode without, or had without its end, a final one.")
        return None

    def _add(
        self, rows: Rows, lane: int, state: LaneState, reply: frames.Rows, row: int, *, is_reset: bool, final: Any
    ) -> None:
        flags = reply.flags[row]
        is_reset = is_reset or bool(flags & RESET_ROW)
        is_missing = bool(flags & REWARD_MISSING) and not is_reset
        metadata = plain(reply.infos[row]) if reply.infos else {}
        if final is not None:
            observation, ended_with = final
            rows.finals[lane] = Final(observation, state.reader.info(ended_with, reward_missing=is_missing))
            state.reset_seed(None, is_new_session=False)
        rows.terminations.append(bool(flags & TERMINATED) and not is_reset)
        rows.truncations.append(bool(flags & TRUNCATED) and not is_reset)
        rows.resets.append(is_reset)
        rows.infos.append(state.reader.info(metadata, reward_missing=is_missing and final is None))


def _required(batch: Batch | None) -> Batch:
    assert batch is not None  # rows of lanes have observations, or they are not read
    return batch


def _outside() -> InvalidObservation:
    return InvalidObservation("The server's observation is outside the declared space.")
