"""Forms write and read the frames that the codec writes and reads, and take no other for one of theirs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openenv_gym_protocol.errors import ProtocolFailure
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.frames import LARGEST_ID, Batch, Failure, Rows, State, Step
from openenv_gym_protocol.vector.repeating import RequestReader, RowsForm, StepForm

IDS = st.integers(0, LARGEST_ID)
LANES = st.lists(IDS, min_size=1, max_size=40, unique=True)
SEEDS = st.none() | st.integers(0, 2**64 - 1)


def rows_of(lanes: list[int], sizes: list[int], byte: int, /, **changes: Any) -> Rows:
    columns: Any = [bytes([byte]) * size for size in sizes]
    keys: dict[str, Any] = {
        "id": 7,
        "lanes": lanes,
        "observations": Batch(columns=columns),
        "rewards": bytes([byte]) * 8 * len(lanes),
        "flags": bytes(len(lanes)),
    }
    return Rows(**(keys | changes))


@given(data=st.data(), lanes=LANES, number=IDS, acks=st.booleans(), deadline=st.none() | st.floats(0, 1e9))
def test_a_request_is_the_step_that_the_codec_reads(
    data: st.DataObject, lanes: list[int], number: int, acks: bool, deadline: float | None
) -> None:
    columns = data.draw(st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=3))
    seeds = data.draw(st.none() | st.lists(SEEDS, min_size=len(lanes), max_size=len(lanes)))
    form = StepForm(lanes, [len(column) for column in columns], deadline, seeds, acks=acks)
    step = codec.decode_request(form.write(number, 300, columns))
    assert isinstance(step, Step)
    assert (step.id, step.lanes, step.deadline, step.next_seeds) == (number, lanes, deadline, seeds)
    assert step.ack == (300 if acks else 0)
    assert [bytes(column) for column in step.actions.columns or ()] == columns


def request(number: int, *, byte: bytes = b"a", ack: int = 5, **others: Any) -> bytes:
    fields: dict[str, Any] = {"lanes": [3, 1], "actions": Batch(columns=[byte * 6]), "deadline": 1.5} | others
    return codec.encode(Step(id=number, ack=ack, **fields))


@pytest.mark.parametrize("columns", [[b"abcde"], [b"abcdefg"], [b"abcdef", b"1"], []])
def test_columns_of_other_sizes_are_no_request_in_a_form(columns: list[bytes]) -> None:
    with pytest.raises(ValueError, match="for a form of"):
        StepForm([3, 1], [6], 1.5, acks=True).write(1, 1, columns)


@given(number=IDS, ack=IDS, sizes=st.lists(st.integers(1, 300), min_size=1, max_size=3), acks=st.booleans())
def test_a_request_in_a_form_is_read_back(number: int, ack: int, sizes: list[int], acks: bool) -> None:
    form = StepForm([3, 1], sizes, 1.5, acks=acks)
    columns = [bytes([place]) * size for place, size in enumerate(sizes)]
    found = form.read(form.write(number, ack, columns))
    assert found is not None
    assert ([bytes(column) for column in found[0]], *found[1:]) == (columns, number, ack if acks else 0)


@pytest.mark.parametrize("size", [1 << 13, 1 << 15])
def test_large_arrays_are_written_and_read_as_small_ones_are(size: int) -> None:
    column = bytes(range(256)) * (size // 256)
    request = StepForm([3, 1], [size, 2], 1.5, acks=True).write(7, 9, [column, b"ab"])
    step = codec.decode_request(request)
    assert isinstance(step, Step)
    assert ([bytes(each) for each in step.actions.columns or ()], step.id, step.ack) == ([column, b"ab"], 7, 9)
    found = StepForm([3, 1], [size, 2], 1.5, acks=True).read(request)
    assert found is not None
    assert ([bytes(each) for each in found[0]], *found[1:]) == ([column, b"ab"], 7, 9)
    rows = rows_of([3, 1], [size, 3], 5)
    assert rows.observations is not None
    arrays: list[Any] = [column, memoryview(b"abc"), rows.rewards, rows.flags]
    reply = RowsForm(rows).write(7, arrays)
    assert reply == codec.encode(rows_of([3, 1], [], 5, observations=Batch(columns=arrays[:2])))
    assert [bytes(each) for each in RowsForm(rows).read(reply, 7) or ()] == arrays
    assert RowsForm(rows).read(reply.replace(b"rewards", b"rewardz"), 7) is None


@given(data=st.data())
def test_a_request_that_is_changed_anywhere_is_read_as_the_codec_reads_it_or_not_at_all(data: st.DataObject) -> None:
    form = StepForm([3, 1], [6], 1.5, acks=True)
    frame = bytearray(form.write(7, 5, [b"abcdef"]))
    frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    found = form.read(bytes(frame))
    if found is not None:
        step = codec.decode_request(bytes(frame))
        assert isinstance(step, Step)
        assert found == (step.actions.columns, step.id, step.ack)


def test_requests_of_all_forms_are_read_one_after_another() -> None:
    reader = RequestReader()
    form = StepForm([3, 1], [6], 1.5, acks=True)
    messages = [
        *[form.write(number, number, [bytes([number]) * 6]) for number in range(1, 20)],
        request(20),
        request(21, next_seeds=[4, None]),
        request(22, actions=Batch(values=[1, 2])),
        request(23, lanes=[1]),
        codec.encode(State(id=24, lanes=[3])),
        *[form.write(number, number, [bytes([number]) * 6]) for number in range(25, 40)],
    ]
    for message in messages:
        assert codec.encode(reader.read(message)) == codec.encode(codec.decode_request(message))


def test_a_form_is_learned_and_spares_the_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, form = RequestReader(), StepForm([3, 1], [6], 1.5, acks=True)
    reader.read(form.write(1, 1, [b"abcdef"]))
    monkeypatch.delattr(codec, "decode_request")
    assert reader.read(form.write(2, 1, [b"ghijkl"])).id == 2


def test_what_the_codec_refuses_is_refused() -> None:
    reader, form = RequestReader(), StepForm([3, 1], [6], 1.5, acks=True)
    reader.read(form.write(1, 1, [b"abcdef"]))
    with pytest.raises(ProtocolFailure):
        reader.read(form.write(2**63, 1, [b"abcdef"]))
    with pytest.raises(ProtocolFailure):
        reader.read(form.write(2, 1, [b"abcdef"])[:-1])


@given(lanes=LANES, number=IDS, sizes=st.lists(st.integers(1, 300), min_size=1, max_size=3), byte=st.integers(0, 255))
def test_a_reply_is_read_as_the_codec_reads_it(lanes: list[int], number: int, sizes: list[int], byte: int) -> None:
    form = RowsForm(rows_of(lanes, sizes, 1))
    rows = rows_of(lanes, sizes, byte, id=number)
    found = form.read(codec.encode(rows), number)
    assert found is not None
    assert rows.observations is not None
    assert [bytes(part) for part in found] == [*(rows.observations.columns or ()), rows.rewards, rows.flags]
    assert form.read(codec.encode(rows), number ^ 1) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"lanes": [1, 0]},
        {"more": True},
        {"infos": [{}, {"key": 1}]},
        {"observations": Batch(columns=[b"1234"])},
        {"observations": Batch(values=[1, 2])},
        {"failures": [Failure(failure="environment", kind="ExecutionError", message="", lane=2)]},
    ],
)
def test_a_reply_of_another_form_is_not_read(changes: dict[str, Any]) -> None:
    form = RowsForm(rows_of([0, 1], [2], 1))
    assert form.read(codec.encode(rows_of([0, 1], [2], 1)), 7) is not None
    assert form.read(codec.encode(rows_of([0, 1], [2], 1, **changes)), 7) is None


@given(data=st.data())
def test_a_frame_that_is_changed_anywhere_is_read_as_the_codec_reads_it_or_not_at_all(data: st.DataObject) -> None:
    frame = bytearray(codec.encode(rows_of([3, 1, 2], [6, 3], 9)))
    frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    found = RowsForm(rows_of([3, 1, 2], [6, 3], 9)).read(bytes(frame), 7)
    if found is not None:
        rows = codec.decode_reply(bytes(frame))
        assert isinstance(rows, Rows)
        assert rows.observations is not None
        assert (rows.id, rows.lanes, rows.more) == (7, [3, 1, 2], False)
        columns = map(bytes, rows.observations.columns or ())
        assert [bytes(part) for part in found] == [*columns, rows.rewards, rows.flags]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"infos": [{}, {}]}, False),
        ({"more": True}, False),
        ({"observations": Batch(values=[1, 2])}, False),
        ({"observations": Batch(columns=[b"12", b""])}, False),
        ({"failures": [Failure(failure="environment", kind="ExecutionError", message="", lane=2)]}, False),
    ],
)
def test_only_replies_with_nothing_but_arrays_have_a_form(changes: dict[str, Any], expected: bool) -> None:
    assert RowsForm.has(rows_of([0, 1], [2], 1, **changes)) is expected


@given(lanes=LANES, number=IDS, sizes=st.lists(st.integers(1, 300), min_size=1, max_size=3), byte=st.integers(0, 255))
def test_a_reply_is_written_as_the_codec_writes_it(lanes: list[int], number: int, sizes: list[int], byte: int) -> None:
    form = RowsForm(rows_of(lanes, sizes, 1))
    rows = rows_of(lanes, sizes, byte, id=number)
    assert rows.observations is not None
    arrays = [*(rows.observations.columns or ()), rows.rewards, rows.flags]
    assert form.write(number, arrays) == codec.encode(rows)
    assert form.write(number, [*arrays[:-1], arrays[-1] + b"1"]) is None
