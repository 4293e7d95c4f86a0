"""Frames of the vector wire: golden ones, what is refused, and what travels unchanged."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Annotated, Any, get_args, get_type_hints

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openenv_gym_protocol.errors import (
    ErrorCode,
    ExecutionError,
    FrameTooLarge,
    InvalidAction,
    InvalidMessage,
    ProtocolFailure,
)
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.codec import ArrayData

from tests.support.golden import Golden, from_file, golden, to_file
from tests.support.vector_messages import REPLIES, REQUESTS

ENDS = {"request": codec.decode_request, "reply": codec.decode_reply}
MESSAGES = {**REQUESTS, **REPLIES}


def name_of(file: Golden) -> str:
    return file.name


@pytest.mark.parametrize("file", golden("requests") + golden("replies"), ids=name_of)
def test_a_golden_frame_is_what_its_message_says(file: Golden) -> None:
    assert msgspec.msgpack.encode(from_file(file.data["message"])) == file.frame
    assert to_file(msgspec.msgpack.decode(file.frame)) == file.data["message"]


@pytest.mark.parametrize("file", golden("requests") + golden("replies"), ids=name_of)
def test_a_message_is_written_as_its_golden_frame_and_read_from_it(file: Golden) -> None:
    message = MESSAGES[file.name]
    assert codec.encode(message) == file.frame
    read = ENDS["request" if file.name in REQUESTS else "reply"](file.frame)
    assert codec.encode(read) == file.frame
    if file.name != "values_not_finite":  # NaN is unequal to itself
        assert read == message


def test_every_message_has_a_golden_frame() -> None:
    assert {file.name for file in golden("requests")} == REQUESTS.keys()
    assert {file.name for file in golden("replies")} == REPLIES.keys()
    assert {type(message) for message in REQUESTS.values()} == set(get_args(frames.Request))
    assert {type(message) for message in REPLIES.values()} == set(get_args(frames.Reply))


@pytest.mark.parametrize("file", golden("accepted"), ids=name_of)
def test_what_another_client_may_write_is_read(file: Golden) -> None:
    read = ENDS[file.data["is"]](file.frame)
    assert to_file(msgspec.msgpack.decode(codec.encode(read))) == file.data["reads_as"]


@pytest.mark.parametrize("file", golden("refused"), ids=name_of)
def test_what_breaks_a_rule_is_refused(file: Golden) -> None:
    with pytest.raises(ProtocolFailure):
        ENDS[file.data["is"]](file.frame)


def test_there_are_golden_frames_that_are_refused() -> None:
    assert len(golden("refused")) > 30
    assert len(golden("accepted")) > 3


@pytest.mark.parametrize("decode", ENDS.values())
def test_a_text_frame_is_refused(decode: Any) -> None:
    with pytest.raises(ProtocolFailure):
        decode('{"op": "state", "id": 1, "lanes": [0]}')


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_frame_may_be_any_buffer(kind: Any) -> None:
    frame = kind(codec.encode(REQUESTS["step_columns"]))
    assert codec.decode_request(frame) == REQUESTS["step_columns"]
    assert codec.request_id(frame) == 5


def test_columns_are_views_of_the_frame() -> None:
    frame = codec.encode(REQUESTS["step_columns"])
    step = codec.decode_request(frame)
    assert isinstance(step, frames.Step)
    assert step.actions.columns is not None
    (column,) = step.actions.columns
    assert isinstance(column, memoryview)
    assert column.obj is frame


def nested(depth: int, *, as_map: bool) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = {"a": value} if as_map else [value]
    return value


def carrying(value: Any) -> list[frames.Request | frames.Reply]:
    """Every kind of message, with a value in each place that takes a free one."""
    failure = frames.Failure(lane=0, failure="", kind="", message="", details={"v": value})
    one: dict[str, Any] = {"lanes": [0], "rewards": bytes(8), "flags": b"\0"}
    batch, empty = frames.Batch(values=[value]), frames.Batch(columns=[])
    return [
        frames.Open(id=1, lanes=1, options={"v": value}),
        frames.Reset(id=1, lanes=[0], options={"v": value}),
        frames.Step(id=1, lanes=[0], actions=batch),
        frames.Call(id=1, lanes=[0], name="f", args=[value]),
        frames.Call(id=1, lanes=[0], name="f", kwargs={"v": value}),
        frames.Set(id=1, lanes=[0], name="f", values=[value]),
        frames.Welcome(id=1, server="", max_frame_bytes=1, max_lanes=1, max_depth=1, dtypes=[], schemas={"v": value}),
        frames.Opened(id=1, lanes=[0], action_space={"v": value}),
        frames.Opened(id=1, lanes=[0], observation_space={"v": value}),
        frames.Rows(id=1, observations=batch, **one),
        frames.Rows(id=1, observations=empty, infos=[{"v": value}], **one),
        frames.Rows(id=1, observations=empty, final=frames.Final(rows=[0], observations=batch), **one),
        frames.Rows(
            id=1,
            observations=empty,
            final=frames.Final(rows=[0], observations=empty, infos=[{"v": value}]),
            **one,
        ),
        frames.Rows(id=1, lanes=[], failures=[failure]),
        frames.Values(id=1, lanes=[0], values=[value]),
        frames.Values(id=1, lanes=[], failures=[failure]),
        frames.Refused(id=1, failure=failure),
    ]


@pytest.mark.parametrize("as_map", [False, True])
@pytest.mark.parametrize("place", range(len(carrying(0))))
def test_a_value_is_as_deep_as_allowed_and_no_deeper(place: int, as_map: bool) -> None:
    def frame(depth: int) -> bytes:
        return codec.encode(carrying(nested(depth, as_map=as_map))[place])

    decode = codec.decode_request if isinstance(carrying(0)[place], frames.Request) else codec.decode_reply
    decode(frame(codec.MAX_DEPTH - 1))
    with pytest.raises(ProtocolFailure):
        decode(frame(codec.MAX_DEPTH + 1))


def test_every_place_for_a_free_value_is_searched_for_depth() -> None:
    structures = [*get_args(frames.Request), *get_args(frames.Reply), frames.Batch, frames.Final, frames.Failure]
    for structure in structures:
        hints = get_type_hints(structure, include_extras=True, localns={"Column": memoryview})
        free = {key for key, hint in hints.items() if _is_free(hint)}
        assert free == set(codec.FREE_KEYS.get(structure, ())), structure


def _is_free(hint: Any) -> bool:
    if hint is Any or hint in (frames.Batch, frames.Final, frames.Failure):
        return True
    arguments = get_args(hint)[:1] if isinstance(hint, type(Annotated[int, 0])) else get_args(hint)
    return any(_is_free(argument) for argument in arguments)


@pytest.mark.parametrize("opener", [b"\x91", b"\x81\xa1a", b"\x81", b"\xdd\x00\x00\x00\x01"])
def test_hostile_nesting_ends_in_an_error(opener: bytes) -> None:
    for head in (b"\x82\xa2op\xa4call\xa4args", b"\x82\xa2op\xa4call\xa7unknown", b"\x82", b""):
        with pytest.raises(ProtocolFailure):
            codec.decode_request(head + opener * 100_000)


KEYS = [None, True, 1.5, math.nan, b"a", datetime(2026, 1, 2, tzinfo=UTC), (1, 2)]


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("place", range(len(carrying(0))))
def test_keys_inside_values_are_text_or_integers(place: int, key: Any) -> None:
    decode = codec.decode_request if isinstance(carrying(0)[place], frames.Request) else codec.decode_reply
    decode(codec.encode(carrying([{"a": {1: 0}}])[place]))
    with pytest.raises(ProtocolFailure, match="key"):
        decode(codec.encode(carrying([{"a": {key: 0}}])[place]))
    with pytest.raises(ExecutionError, match="key"):
        codec.encode_value([{"a": {key: 0}}])


def test_a_key_may_be_of_any_class_that_is_written_as_text_or_an_integer() -> None:
    value = {np.int64(2): 1, ErrorCode.EXECUTION_ERROR: 2, np.str_("a"): 3}
    written = codec.encode(frames.Values(id=1, lanes=[0], values=[codec.encode_value(value)]))
    reply = codec.decode_reply(written)
    assert isinstance(reply, frames.Values)
    assert reply.values == [{2: 1, "EXECUTION_ERROR": 2, "a": 3}]


def test_hostile_keys_end_in_an_error() -> None:
    frame = b"\x84\xa2op\xa4call\xa2id\x01\xa5lanes\x91\x00\xa4name\xa1f"
    for key in (b"\x91" * 65 + b"\x00", b"\x81\x01\x02", b"\x91\x81\x01\x02", b"\xc7\x03\xff\xff\xff\xff"):
        with pytest.raises(ProtocolFailure):
            codec.decode_request(b"\x85" + frame[1:] + b"\xa4args\x91\x81" + key + b"\x00")


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (msgspec.msgpack.encode({"op": "fork", "id": 4, "lanes": [0]}), 4),
        (msgspec.msgpack.encode({"op": "state", "id": 2**63 - 1, "lanes": [0, 0]}), 2**63 - 1),
        (msgspec.msgpack.encode({"op": "state", "id": -4, "lanes": [0]}), frames.UNREADABLE),
        (msgspec.msgpack.encode({"op": "state", "id": 2**63, "lanes": [0]}), frames.UNREADABLE),
        (msgspec.msgpack.encode([1]), frames.UNREADABLE),
        (b"", frames.UNREADABLE),
        (b"\x82\xa1a" + b"\x91" * 100_000, frames.UNREADABLE),
        ("text", frames.UNREADABLE),
    ],
)
def test_the_id_of_a_refused_frame_is_read_where_there_is_one(frame: bytes | str, expected: int) -> None:
    assert codec.request_id(frame) == expected


class Thing:
    """What no wire has a form for."""


UNSENDABLE = [
    2**64,
    -(2**63) - 1,
    "\ud800",
    {"\udfff": 1},
    Thing(),
    ArrayData("int8", [3], b"12"),
    nested(5000, as_map=False),
]


@pytest.mark.parametrize("value", UNSENDABLE, ids=[str(i) for i in range(len(UNSENDABLE))])
def test_what_cannot_be_sent_is_a_typed_error(value: Any) -> None:
    with pytest.raises(InvalidAction):
        codec.encode(frames.Step(id=1, lanes=[0], actions=frames.Batch(values=[value])))
    with pytest.raises(InvalidMessage):
        codec.encode(frames.Call(id=1, lanes=[0], name="f", args=[value]))
    with pytest.raises(ExecutionError):
        codec.encode(frames.Values(id=1, lanes=[0], values=[value]))
    with pytest.raises(ExecutionError):
        codec.encode_value(value)


def test_a_value_that_holds_itself_is_a_typed_error() -> None:
    value: list[Any] = []
    value.extend([value, value])
    with pytest.raises(ExecutionError):
        codec.encode_value(value)


def test_a_value_written_ahead_is_the_same_in_its_message() -> None:
    value = {"board": [[1, 2], [3, 4]], "text": "ü"}
    ahead = frames.Values(id=1, lanes=[0], values=[codec.encode_value(value)])
    assert codec.encode(ahead) == codec.encode(frames.Values(id=1, lanes=[0], values=[value]))
    assert codec.decode_reply(codec.encode(ahead)) == frames.Values(id=1, lanes=[0], values=[value])


@pytest.mark.parametrize("as_map", [False, True])
def test_a_value_written_ahead_is_no_deeper_than_what_is_read(as_map: bool) -> None:
    deepest = codec.encode_value(nested(codec.MAX_DEPTH, as_map=as_map))
    codec.decode_reply(codec.encode(frames.Values(id=1, lanes=[0], values=[deepest])))
    with pytest.raises(ExecutionError):
        codec.encode_value(nested(codec.MAX_DEPTH + 1, as_map=as_map))


def test_a_frame_larger_than_the_other_end_accepts_is_not_written() -> None:
    message = REQUESTS["step_columns"]
    size = len(codec.encode(message))
    assert len(codec.encode(message, size)) == size
    with pytest.raises(FrameTooLarge):
        codec.encode(message, size - 1)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
IDS = st.integers(0, 2**63 - 1)
LANES = st.lists(IDS, unique=True, max_size=4)


@st.composite
def rows(draw: st.DrawFn) -> frames.Rows:
    lanes = draw(LANES)
    count = len(lanes)

    def each(strategy: st.SearchStrategy[Any]) -> Any:
        return draw(st.lists(strategy, min_size=count, max_size=count))

    values = frames.Batch(values=each(VALUES)) if draw(st.booleans()) else frames.Batch(columns=[draw(st.binary())])
    infos = each(st.dictionaries(st.text(), VALUES, max_size=3)) if draw(st.booleans()) else None
    return frames.Rows(
        id=draw(IDS),
        lanes=lanes,
        observations=values if lanes else None,
        rewards=draw(st.binary(min_size=8 * count, max_size=8 * count)),
        flags=draw(st.binary(min_size=count, max_size=count)),
        infos=infos,
        more=draw(st.booleans()),
    )


@given(rows())
@settings(max_examples=100, deadline=None)
def test_rows_travel_unchanged(message: frames.Rows) -> None:
    assert codec.decode_reply(codec.encode(message)) == message


@given(IDS, LANES, st.data())
@settings(max_examples=100, deadline=None)
def test_steps_travel_unchanged(request_id: int, lanes: list[int], data: st.DataObject) -> None:
    count = len(lanes)
    actions = data.draw(st.lists(VALUES, min_size=count, max_size=count))
    seeds = data.draw(st.none() | st.lists(st.none() | st.integers(0, 2**64 - 1), min_size=count, max_size=count))
    message = frames.Step(id=request_id, lanes=lanes, actions=frames.Batch(values=actions), next_seeds=seeds)
    assert codec.decode_request(codec.encode(message)) == message


def decoded(value: Any) -> Any:
    reply = codec.decode_reply(codec.encode(frames.Values(id=1, lanes=[0], values=[value])))
    assert isinstance(reply, frames.Values)
    return reply.values[0]


@pytest.mark.parametrize("value", [float("nan"), np.float64("nan"), np.float32("nan")])
def test_nan_travels(value: Any) -> None:
    assert math.isnan(decoded(value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("-inf"), float("-inf")),
        (np.float64("inf"), float("inf")),
        (np.int64(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.bool_(True), True),
        (np.str_("text"), "text"),
        (np.array(7), 7),
    ],
)
def test_numpy_scalars_travel_as_plain_values(value: Any, expected: Any) -> None:
    assert decoded(value) == expected
    assert type(decoded(value)) is type(expected)
