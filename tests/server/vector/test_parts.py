from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.errors import ExecutionError, InvalidMessage
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.frames import Rows
from openenv_gym_server.vector.parts import Part, failed, failure, observed_row, one_row, rows_frames


def part(lane: int, value: Any = "x", *, final: str | None = None) -> Part:
    ended = None if final is None else observed_row(None, final, {"end": lane})
    return one_row(lane, observed_row(None, value, {"lane": lane} if lane else None), float(lane), 1, ended)


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
        observed_row(None, value, None)


def test_a_failure_can_be_sent_whatever_is_in_it() -> None:
    told = failure(InvalidMessage("bad \udfff", errors=[{"input": object()}]), 3)
    assert codec.decode_reply(rows_frames(1, [Part(failures=[told])], more=False, max_bytes=1_000)[0])
    assert told.message == "bad \\udfff"
    assert told.details == {}
