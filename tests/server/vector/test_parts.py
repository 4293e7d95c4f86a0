from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.errors import ExecutionError, InvalidMessage
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.frames import Failure, Rows, Values
from openenv_gym_server.vector.parts import (
    Part,
    Row,
    ValuesPart,
    failed,
    failure,
    joined,
    rows_frames,
    shortened,
    values_frame,
    with_final,
    written_value,
)


def part(lane: int, value: Any = "x", *, final: str | None = None) -> Part | Row:
    row = (lane, None, written_value(value), float(lane), 1, written_value({"lane": lane}) if lane else None)
    ended = (lane, None, written_value(final), float(lane), 1, written_value({"end": lane}))
    return row if final is None else with_final(row, ended)


def decoded(frames: list[bytes]) -> list[Rows]:
    replies = [codec.decode_reply(frame) for frame in frames]
    assert all(isinstance(reply, Rows) for reply in replies)
    return [reply for reply in replies if isinstance(reply, Rows)]


def test_parts_become_one_frame_in_their_order() -> None:
    (rows,) = decoded(rows_frames(7, [part(2), part(0), part(1)], more=True, max_bytes=10_000))
    assert (rows.id, rows.lanes, rows.more) == (7, [2, 0, 1], True)
    assert rows.infos == [{"lane": 2}, {}, {"lane": 1}]


def test_finals_name_their_rows_across_parts() -> None:
    failing = failed(Part, [9], ExecutionError("no"))
    assert isinstance(failing, Part)
    parts = [part(4), part(5, final="e5"), failing, part(6, final="e6")]
    (rows,) = decoded(rows_frames(1, parts, more=False, max_bytes=10_000))
    assert rows.final is not None
    assert (rows.final.rows, rows.final.observations.values) == ([1, 2], ["e5", "e6"])
    assert rows.final.infos == [{"end": 5}, {"end": 6}]
    assert [told.lane for told in rows.failures] == [9]


def test_infos_that_are_all_empty_are_left_out() -> None:
    (rows,) = decoded(rows_frames(1, [part(0)], more=False, max_bytes=10_000))
    assert rows.infos is None


@pytest.mark.parametrize("more", [True, False])
def test_only_the_last_frame_of_several_ends_the_request(more: bool) -> None:
    parts = [part(lane, "x" * 400) for lane in range(1, 9)]
    rows = decoded(rows_frames(1, parts, more=more, max_bytes=1_000))
    assert [lane for reply in rows for lane in reply.lanes] == list(range(1, 9))
    assert [reply.more for reply in rows] == [True] * (len(rows) - 1) + [more]


def test_a_row_too_large_by_itself_is_a_failure_of_its_lane() -> None:
    rows = decoded(rows_frames(1, [part(1), part(2, "x" * 5_000), part(3)], more=False, max_bytes=1_000))
    assert [lane for reply in rows for lane in reply.lanes] == [1, 3]
    assert [(told.lane, told.kind, told.lost) for reply in rows for told in reply.failures] == [
        (2, "FrameTooLarge", False)
    ]


def test_a_value_that_holds_itself_is_an_error() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ExecutionError):
        written_value(value)


def test_a_failure_can_be_sent_whatever_is_in_it() -> None:
    told = failure(InvalidMessage("bad \udfff", errors=[{"input": object()}]), 3)
    assert codec.decode_reply(rows_frames(1, [Part(failures=[told])], more=False, max_bytes=1_000)[0])
    assert told.message == "bad \\udfff"
    assert told.details == {}


def told_of(text: str, lane: int | None = None, *, message: str = "") -> Failure:
    """A failure that tells a client of its own input."""
    fault = {"type": "int_parsing", "loc": ["number"], "msg": "no number", "input": text}
    return failure(InvalidMessage(f"Invalid message {message}", errors=[fault]), lane)


def test_failures_beyond_the_client_limit_come_in_several_frames_and_are_shortened_where_one_is() -> None:
    told = [told_of("x" * 900, 1), told_of("", 2, message="y" * 900), told_of("", 3, message="é" * 5_000)]
    large = Part(failures=told)
    frames = rows_frames(1, [part(0), large, part(4)], more=False, max_bytes=1_000)
    assert max(map(len, frames)) <= 1_000
    rows = decoded(frames)
    assert [lane for reply in rows for lane in reply.lanes] == [0, 4]
    one, two, three = (told for reply in rows for told in reply.failures)
    assert (one.lane, two.lane, three.lane) == (1, 2, 3)
    assert {told.kind for told in (one, two, three)} == {"InvalidMessage"}
    assert one.message == two.message[:16] == "Invalid message "
    assert one.details["errors"][0]["msg"] == "no number"
    assert one.details["errors"][0]["input"] == "x" * 200 + "…"
    assert (two.details, three.details) == ({}, {})
    assert two.message.endswith("y…")
    assert three.message.endswith("é…")


def test_a_row_and_the_failures_beside_it_are_told_apart_where_they_are_too_large_together() -> None:
    both = joined([part(1, "x" * 600)])
    both.failures = [told_of("y" * 500, 2)]
    frames = rows_frames(1, [both], more=False, max_bytes=1_000)
    assert [(reply.lanes, [told.lane for told in reply.failures]) for reply in decoded(frames)] == [
        ([1], []),
        ([], [2]),
    ]


@pytest.mark.parametrize("count", [1, 20])
def test_values_that_fail_are_shortened_to_what_the_client_accepts(count: int) -> None:
    failures = [told_of("", lane, message="x" * 5_000) for lane in range(count)]
    frame = values_frame(1, [ValuesPart(failures=failures)], 4_000)
    assert len(frame) <= 4_000
    reply = codec.decode_reply(frame)
    assert isinstance(reply, Values)
    assert [(told.lane, told.kind) for told in reply.failures] == [(lane, "InvalidMessage") for lane in range(count)]


def test_what_fits_is_left_as_it_is() -> None:
    failures = [told_of("x" * 600, 1)]
    assert shortened(failures, 10_000) == failures
    (told,) = shortened([told_of("", message="x" * 740)], 1_000)
    assert (told.message, told.details) == (f"Invalid message {'x' * 740}", {})
