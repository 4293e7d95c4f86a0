"""What some lanes answered, and the frames that many such answers make together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from openenv_gym_protocol.errors import ExecutionError, FrameTooLarge, OpenEnvGymError
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.codec import encode_value
from openenv_gym_protocol.vector.columns import PackedRow, pack_rewards
from openenv_gym_protocol.vector.failures import failure_of
from openenv_gym_protocol.vector.frames import Batch, Column, Failure, Final, Rows, Values

from openenv_gym_server.serialisation import without_surrogates

_NO_INFO = msgspec.Raw(msgspec.msgpack.encode({}))


@dataclass(slots=True, kw_only=True)
class Observed:
    """Observations of some rows, written already.

    Attributes:
        rows: How many.
        columns: The bytes of each leaf, where observations travel as columns.
        values: Otherwise, one for each row.
        infos: One for each row, or None where all are empty.
    """

    rows: int
    columns: Sequence[Column] | None = None
    values: list[Any] | None = None
    infos: list[msgspec.Raw] | None = None


@dataclass(slots=True, kw_only=True)
class Part:
    """What some lanes answered to a reset or step.

    Attributes:
        lanes: The lanes that succeeded.
        observed: Their observations; None where there are none.
        rewards: One for each, or their bytes.
        flags: One byte for each.
        final_rows: In SAME_STEP, the positions in ``lanes`` whose episode ended.
        final: What those ended with.
        failures: The lanes that failed.
    """

    lanes: Sequence[int] = ()
    observed: Observed | None = None
    rewards: bytes = b""
    flags: bytes = b""
    final_rows: Sequence[int] = ()
    final: Observed | None = None
    failures: list[Failure] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ValuesPart:
    """What some lanes answered to a request for values, written already."""

    lanes: Sequence[int] = ()
    values: list[Any] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


AnyPart = Part | ValuesPart


def failed(kind: type[AnyPart], lanes: Sequence[int], error: OpenEnvGymError, *, lost: bool = False) -> AnyPart:
    """The part of lanes that failed."""
    return kind(failures=[failure(error, lane, lost=lost) for lane in lanes])


def failure(error: OpenEnvGymError, lane: int | None = None, *, lost: bool = False) -> Failure:
    """The form in which an exception travels, whatever environments and clients put into it."""
    told = failure_of(error, lane, lost=lost)
    told.message = without_surrogates(told.message)
    try:
        encode_value(told.details)
    except ExecutionError:
        # Only a client's own input, echoed in the errors, can be unwritable.
        told.details = {}
    return told


def one_row(lane: int, observed: Observed, reward: float, flags: int, final: Observed | None = None) -> Part:
    """The part of one lane that succeeded."""
    return Part(
        lanes=(lane,),
        observed=observed,
        rewards=pack_rewards((reward,)),
        flags=bytes((flags,)),
        final_rows=() if final is None else (0,),
        final=final,
    )


def observed_row(packed: PackedRow | None, value: Any, metadata: dict[str, Any] | None) -> Observed:
    """One row's observation: packed to columns, or as a value.

    Raises:
        ExecutionError: It holds what msgpack cannot carry.
    """
    infos = [encode_value(metadata)] if metadata else None
    if packed is not None:
        return Observed(rows=1, columns=packed, infos=infos)
    return Observed(rows=1, values=[encode_value(value)], infos=infos)


def rows_frames(request_id: int, parts: Sequence[Part], *, more: bool, max_bytes: int) -> list[bytes]:
    """Writes answers as one frame, or as several where one would be larger than the client accepts.

    A single lane's row that is too large by itself becomes a failure of that lane.
    """
    try:
        return [codec.encode(_rows(request_id, parts, more=more), max_bytes)]
    except FrameTooLarge as error:
        if len(parts) > 1:
            half = len(parts) // 2
            first = rows_frames(request_id, parts[:half], more=True, max_bytes=max_bytes)
            return first + rows_frames(request_id, parts[half:], more=more, max_bytes=max_bytes)
        refused = _too_large(parts[0], error)
        return [codec.encode(_rows(request_id, [refused], more=more))]


def values_frame(request_id: int, parts: Sequence[ValuesPart], max_bytes: int) -> bytes:
    """Writes answers as one frame; where it would be larger than the client accepts, all lanes fail."""
    lanes = [lane for part in parts for lane in part.lanes]
    failures = [failure for part in parts for failure in part.failures]
    values = [value for part in parts for value in part.values]
    try:
        return codec.encode(Values(id=request_id, lanes=lanes, values=values, failures=failures), max_bytes)
    except FrameTooLarge as error:
        failures += [failure(error, lane) for lane in lanes]
        return codec.encode(Values(id=request_id, lanes=[], failures=failures))


def _rows(request_id: int, parts: Sequence[Part], *, more: bool) -> Rows:
    observed = [part.observed for part in parts if part.observed is not None]
    infos = _infos(observed)
    return Rows(
        id=request_id,
        lanes=[lane for part in parts for lane in part.lanes],
        observations=_batch(observed),
        rewards=b"".join([part.rewards for part in parts]),
        flags=b"".join([part.flags for part in parts]),
        infos=infos,
        final=_final(parts),
        failures=[failure for part in parts for failure in part.failures],
        more=more,
    )


def _final(parts: Sequence[Part]) -> Final | None:
    rows: list[int] = []
    ended: list[Observed] = []
    offset = 0
    for part in parts:
        if part.final is not None:
            rows += [offset + row for row in part.final_rows]
            ended.append(part.final)
        offset += len(part.lanes)
    batch = _batch(ended)
    return None if batch is None else Final(rows=rows, observations=batch, infos=_infos(ended))


def _batch(observed: Sequence[Observed]) -> Batch | None:
    if not observed:
        return None
    if observed[0].columns is None:
        return Batch(values=[value for item in observed for value in item.values or ()])
    if len(observed) == 1:
        return Batch(columns=list(observed[0].columns))
    every = [item.columns or () for item in observed]
    return Batch(columns=[b"".join(column) for column in zip(*every, strict=True)])


def _infos(observed: Sequence[Observed]) -> list[Any] | None:
    if all(item.infos is None for item in observed):
        return None
    return [info for item in observed for info in (item.infos or [_NO_INFO] * item.rows)]


def _too_large(part: Part, error: FrameTooLarge) -> Part:
    failures = [*part.failures, *(failure(error, lane) for lane in part.lanes)]
    return Part(failures=failures)
