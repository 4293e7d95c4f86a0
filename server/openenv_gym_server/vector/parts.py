"""What some lanes answered, and the frames that many such answers make together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias, cast

import msgspec
from openenv_gym_protocol.errors import ExecutionError, FrameTooLarge, OpenEnvGymError
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.codec import encode_value
from openenv_gym_protocol.vector.columns import PackedRow, pack_rewards
from openenv_gym_protocol.vector.failures import failure_of
from openenv_gym_protocol.vector.frames import Batch, Column, Failure, Final, Refused, Rows, Values
from openenv_gym_protocol.vector.json_form import json_form

from openenv_gym_server.serialisation import without_surrogates

_AROUND_FAILURES = 128
"""Bytes of a reply that has nothing but failures, beside these."""

_LONG_TEXT = 200

_NO_INFO = msgspec.Raw(msgspec.msgpack.encode({}))


class Observed(msgspec.Struct, kw_only=True, gc=False):
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
    infos: list[Any] | None = None


class Part(msgspec.Struct, kw_only=True, gc=False):
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
    failures: list[Failure] = []


class ValuesPart(msgspec.Struct, kw_only=True, gc=False):
    """What some lanes answered to a request for values, written already."""

    lanes: Sequence[int] = ()
    values: list[Any] = []
    failures: list[Failure] = []


Row: TypeAlias = tuple[int, PackedRow | None, Any, float, int, msgspec.Raw | None]
"""What one lane answered to a reset or step, most of the time: the lane, its observation packed or as a value that is
written already, reward, flags and info. A plain tuple: one is made in every step of every lane."""

Answer: TypeAlias = Part | ValuesPart | Row
"""What some lanes answered."""


def failed(
    kind: type[Part] | type[ValuesPart], lanes: Sequence[int], error: OpenEnvGymError, *, lost: bool = False
) -> Part | ValuesPart:
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


def refusal(request_id: int, error: OpenEnvGymError, max_bytes: int | None = None) -> bytes:
    """The frame that refuses a request.

    Args:
        request_id: The request.
        error: Why.
        max_bytes: The largest frame that the client accepts; None where that is not known yet.
    """
    told = failure(error)
    if max_bytes is not None:
        (told,) = shortened([told], max_bytes)
    return codec.encode(Refused(id=request_id, failure=told))


def written_value(value: Any) -> msgspec.Raw:
    """An observation's value or an info, written as the standard wire has it.

    Raises:
        ExecutionError: It holds what neither wire can carry.
    """
    return encode_value(json_form(value))


def written_info(info: Any) -> msgspec.Raw:
    """The info that came beside a value.

    Raises:
        ExecutionError: It is no mapping, or holds what neither wire can carry.
    """
    if not isinstance(info, Mapping):
        raise ExecutionError(f"The environment returned the info {info!r:.80} where a dict belongs.")
    return written_value(info)


def with_final(begun: Row, ended: Row) -> Part:
    """In SAME_STEP, the part of one lane whose episode ended and began: the first row is sent, the other the final."""
    part, final = part_of([begun]), part_of([ended])
    part.final_rows, part.final = (0,), final.observed
    return part


def part_of(rows: Sequence[Row]) -> Part:
    """Rows as one part."""
    lanes, packed, values, rewards, flags, infos = zip(*rows, strict=True)
    has_infos = infos.count(None) < len(infos)
    return Part(
        lanes=lanes,
        observed=Observed(
            rows=len(rows),
            columns=None if packed[0] is None else [b"".join(column) for column in zip(*packed, strict=True)],
            values=list(values) if packed[0] is None else None,
            infos=[info or _NO_INFO for info in infos] if has_infos else None,
        ),
        rewards=pack_rewards(rewards),
        flags=bytes(flags),
    )


def joined(answers: Sequence[Part | Row]) -> Part:
    """Answers as one part, in their order."""
    if not answers:
        return Part()
    if set(map(type, answers)) == {tuple}:
        return part_of(cast(Sequence[Row], answers))
    parts: list[Any] = []
    some: Any
    for is_row, some in groupby(answers, _is_row):
        some = list(some)
        parts += [part_of(some)] if is_row else some
    return parts[0] if len(parts) == 1 else _of_parts(parts)


def without(part: Part, lanes: Collection[int]) -> Part:
    """What is left of a part without some lanes."""
    kept = [row for row, lane in enumerate(part.lanes) if lane not in lanes]
    left = _of_rows(part, kept)
    left.failures = [failure for failure in part.failures if failure.lane not in lanes]
    return left


def rows_frames(request_id: int, answers: Sequence[Part | Row], *, more: bool, max_bytes: int) -> list[bytes]:
    """Writes answers as one frame, or as several where one would be larger than the client accepts.

    One environment's rows of many lanes are divided too. A single lane's row that is too large by itself becomes a
    failure of that lane, and a failure that is too large is shortened.
    """
    try:
        whole = joined(answers)
        return [codec.encode(_rows(request_id, whole, more=more), max_bytes)]
    except FrameTooLarge as error:
        parts = _halves(whole)
        if len(parts) > 1:
            first = rows_frames(request_id, parts[:1], more=True, max_bytes=max_bytes)
            return first + rows_frames(request_id, parts[1:], more=more, max_bytes=max_bytes)
        failures = whole.failures or [failure(error, lane) for lane in whole.lanes]
        return [codec.encode(_rows(request_id, Part(failures=shortened(failures, max_bytes)), more=more))]


def values_frame(request_id: int, parts: Sequence[ValuesPart], max_bytes: int) -> bytes:
    """Writes answers as one frame.

    Where it would be larger than the client accepts, all lanes fail; failures that are too large are shortened.
    """
    lanes = [lane for part in parts for lane in part.lanes]
    failures = [failure for part in parts for failure in part.failures]
    values = [value for part in parts for value in part.values]
    try:
        return codec.encode(Values(id=request_id, lanes=lanes, values=values, failures=failures), max_bytes)
    except FrameTooLarge as error:
        failures += [failure(error, lane) for lane in lanes]
        return codec.encode(Values(id=request_id, lanes=[], failures=shortened(failures, max_bytes)))


def shortened(failures: Sequence[Failure], max_bytes: int) -> list[Failure]:
    """Failures that go into one frame together: each has its share of it, and what is longer is cut.

    Long texts in the details are cut first, then the details are left out, and at last the message is cut.

    Args:
        failures: The failures.
        max_bytes: The largest frame that the client accepts.
    """
    most = max(max_bytes - _AROUND_FAILURES, 0) // max(len(failures), 1)
    return [_cut(told, most) for told in failures]


def _cut(told: Failure, most: int) -> Failure:
    for details in (told.details, _with_short_texts(told.details), {}):
        told = msgspec.structs.replace(told, details=details)
        excess = len(codec.encode_value(told)) - most
        if excess <= 0:
            return told
    text = told.message.encode()
    kept = text[: max(len(text) - excess - len("…".encode()), 0)].decode(errors="ignore")
    return msgspec.structs.replace(told, message=f"{kept}…")


def _with_short_texts(value: Any) -> Any:
    """A copy without long texts: what a client sent is told back to it in the errors, which are for reading."""
    if isinstance(value, str) and len(value) > _LONG_TEXT:
        return f"{value[:_LONG_TEXT]}…"
    if isinstance(value, dict):
        return {_with_short_texts(key): _with_short_texts(item) for key, item in value.items()}
    return [_with_short_texts(item) for item in value] if isinstance(value, list | tuple) else value


def _halves(part: Part) -> list[Part]:
    """Two parts of one, if it has anything to divide."""
    if part.lanes and part.failures:
        return [msgspec.structs.replace(part, failures=[]), Part(failures=part.failures)]
    if len(part.failures) > 1:
        half = len(part.failures) // 2
        return [Part(failures=part.failures[:half]), Part(failures=part.failures[half:])]
    count = len(part.lanes)
    if count < 2:
        return [part]
    return [_of_rows(part, range(count // 2)), _of_rows(part, range(count // 2, count))]


def _of_rows(part: Part, rows: Sequence[int]) -> Part:
    places = {row: place for place, row in enumerate(rows)}
    ended = [place for place, row in enumerate(part.final_rows) if row in places]
    return Part(
        lanes=[part.lanes[row] for row in rows],
        observed=_picked(part.observed, rows) if part.observed is not None and rows else None,
        rewards=b"".join([part.rewards[8 * row : 8 * row + 8] for row in rows]),
        flags=bytes([part.flags[row] for row in rows]),
        final_rows=[places[part.final_rows[place]] for place in ended],
        final=_picked(part.final, ended) if part.final is not None and ended else None,
    )


def _picked(observed: Observed, rows: Sequence[int]) -> Observed:
    columns = observed.columns
    if columns is not None:
        sizes = [len(column) // observed.rows for column in columns]
        columns = [
            b"".join([column[size * row : size * (row + 1)] for row in rows])
            for size, column in zip(sizes, columns, strict=True)
        ]
    return Observed(
        rows=len(rows),
        columns=columns,
        values=None if observed.values is None else [observed.values[row] for row in rows],
        infos=None if observed.infos is None else [observed.infos[row] for row in rows],
    )


def _is_row(answer: Any) -> bool:
    return type(answer) is tuple


def _rows(request_id: int, part: Part, *, more: bool) -> Rows:
    final = part.final
    return Rows(
        id=request_id,
        lanes=list(part.lanes),
        observations=None if part.observed is None else _batch(part.observed),
        rewards=part.rewards,
        flags=part.flags,
        infos=None if part.observed is None else part.observed.infos,
        final=None
        if final is None
        else Final(rows=list(part.final_rows), observations=_batch(final), infos=final.infos),
        failures=part.failures,
        more=more,
    )


def _batch(observed: Observed) -> Batch:
    if observed.columns is None:
        return Batch(values=observed.values)
    return Batch(columns=list(observed.columns))


def _of_parts(parts: Sequence[Part]) -> Part:
    final_rows: list[int] = []
    offset = 0
    for part in parts:
        final_rows += [offset + row for row in part.final_rows]
        offset += len(part.lanes)
    return Part(
        lanes=[lane for part in parts for lane in part.lanes],
        observed=_together([part.observed for part in parts if part.observed is not None]),
        rewards=b"".join([part.rewards for part in parts]),
        flags=b"".join([part.flags for part in parts]),
        final_rows=final_rows,
        final=_together([part.final for part in parts if part.final is not None]),
        failures=[failure for part in parts for failure in part.failures],
    )


def _together(observed: Sequence[Observed]) -> Observed | None:
    if not observed:
        return None
    columns = None
    if observed[0].columns is not None:
        columns = [b"".join(column) for column in zip(*[item.columns or () for item in observed], strict=True)]
    return Observed(
        rows=sum(item.rows for item in observed),
        columns=columns,
        values=[value for item in observed for value in item.values or ()] if columns is None else None,
        infos=_infos(observed),
    )


def _infos(observed: Sequence[Observed]) -> list[Any] | None:
    if all(item.infos is None for item in observed):
        return None
    return [info for item in observed for info in (item.infos or [_NO_INFO] * item.rows)]
