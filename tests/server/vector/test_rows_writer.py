"""Answers in one form are written as all others are, without the codec."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from openenv_gym_protocol.errors import ExecutionError
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.codec import encode_value
from openenv_gym_protocol.vector.frames import Rows
from openenv_gym_protocol.vector.repeating import RowsForm
from openenv_gym_server.vector import rows_writer
from openenv_gym_server.vector.parts import Observed, Part, failure, rows_frames
from openenv_gym_server.vector.rows_writer import RowsWriter


def part(byte: int = 1, **changes: object) -> Part:
    observed = Observed(rows=2, columns=[bytes([byte]) * 6, bytes([byte]) * 2])
    plain = Part(lanes=(4, 2), observed=observed, rewards=bytes([byte]) * 16, flags=bytes([byte]) * 2)
    return replace(plain, **changes)


def test_an_answer_like_the_one_before_is_written_without_the_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RowsWriter()
    assert writer.frame(1, part()) is None
    (expected,) = rows_frames(300, [part(9)], more=False, max_bytes=1000)
    monkeypatch.delattr(codec, "encode")
    assert writer.frame(300, part(9)) == expected


OTHERS = {
    "other lanes": part(lanes=(2, 4)),
    "fewer lanes": Part(lanes=(4,), observed=Observed(rows=1, columns=[b"123", b"1"]), rewards=bytes(8), flags=b"1"),
    "an info": part(observed=Observed(rows=2, columns=[bytes(6), bytes(2)], infos=[encode_value({"a": 1})] * 2)),
    "values": part(observed=Observed(rows=2, values=[1, 2])),
    "a final observation": part(final_rows=(0,), final=Observed(rows=1, columns=[b"123", b"1"])),
    "a failure": part(failures=[failure(ExecutionError("no"), 7)]),
    "failures alone": Part(failures=[failure(ExecutionError("no"), 7)]),
    "nothing": Part(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_an_answer_of_another_form_is_the_codecs(name: str) -> None:
    writer = RowsWriter()
    writer.frame(1, part())
    assert writer.frame(2, part()) is not None
    assert writer.frame(3, OTHERS[name]) is None


def test_forms_that_are_never_used_again_are_soon_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Rows] = []

    class CountedForm(RowsForm):
        def __init__(self, rows: Rows) -> None:
            made.append(rows)
            super().__init__(rows)

    monkeypatch.setattr(rows_writer, "RowsForm", CountedForm)
    writer = RowsWriter()
    for size in range(1, 200):
        assert writer.frame(size, part(observed=Observed(rows=2, columns=[bytes(2 * size)]))) is None
    assert 0 < len(made) < 20
