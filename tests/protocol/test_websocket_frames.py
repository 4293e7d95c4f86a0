"""What either end reads is what the other wrote, and what the websockets library makes of the same bytes."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator

import pytest
from openenv_gym_protocol.websocket_frames import NO_STATUS, Close, Event, FrameReader, Opcode, frame, masked_frame
from websockets.exceptions import PayloadTooBig, ProtocolError
from websockets.frames import Frame
from websockets.frames import Opcode as Theirs
from websockets.protocol import Protocol, Side, State
from websockets.utils import apply_mask

from tests.support.fuzz import INPUTS, hostile_frames

MAX_BYTES = 100_000
SIZES = [0, 1, 125, 126, 65535, 65536]


@pytest.fixture(params=[Side.CLIENT, Side.SERVER], ids=["client", "server"])
def reader_side(request: pytest.FixtureRequest) -> Side:
    """Which end reads."""
    side: Side = request.param
    return side


def sent(side: Side, opcode: int, payload: bytes, *, fin: bool = True) -> bytes:
    """A frame of the end that the given one reads, as websockets writes it."""
    return Frame(Theirs(opcode), payload, fin).serialize(mask=side is Side.SERVER)


def split(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """The same bytes, as a network may deliver them."""
    at = 0
    while at < len(data):
        end = at + chance.choice((1, 1, 2, 3, 7, 50, 5000))
        yield data[at:end]
        at = end


def read(
    side: Side, data: bytes, chance: random.Random | None = None, max_bytes: int = MAX_BYTES
) -> tuple[list[Event], int | None]:
    """What a reader makes of bytes: the events, and the code of a violation."""
    reader = FrameReader(max_bytes, apply_mask if side is Side.SERVER else None)
    pieces = [data] if chance is None else split(data, chance)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events, reader.violation.code if reader.violation else None


def drawn(side: Side, chance: random.Random) -> tuple[bytes, list[Event]]:
    """Frames of an end that keeps the rules, and what they say."""
    data, events = b"", list[Event]()
    for _ in range(chance.randrange(1, 6)):
        size = chance.choice((0, 1, 5, 125, 126, 127, 300, 65535, 65536, 70_000))
        text = chance.choice(("a", "é", "雪", "🎲")) * (size // 4)
        is_text = chance.random() < 0.5
        payload = text.encode() if is_text else chance.randbytes(size)
        opcode = Opcode.TEXT if is_text else Opcode.BINARY
        cuts = sorted(chance.randrange(len(payload) + 1) for _ in range(chance.choice((0, 0, 1, 3))))
        ends = [*cuts, len(payload)]
        for number, (start, end) in enumerate(zip([0, *cuts], ends, strict=True)):
            data += sent(side, opcode if number == 0 else 0, payload[start:end], fin=number == len(cuts))
            if number < len(cuts) and chance.random() < 0.5:
                data += sent(side, Opcode.PING, b"between")
                events.append((Opcode.PING, b"between"))
        events.append((opcode, text if is_text else payload))
    return data, events


def test_messages_arrive_as_they_were_sent_however_the_bytes_are_split(reader_side: Side) -> None:
    for number in range(200):
        chance = random.Random(number)
        data, events = drawn(reader_side, chance)
        assert read(reader_side, data, chance) == (events, None), number
        assert read(reader_side, data) == (events, None), number


def test_hostile_bytes_are_judged_as_websockets_judges_them(reader_side: Side) -> None:
    right = [drawn(reader_side, random.Random(number))[0][:400] for number in range(20)]
    violations = 0
    for number, data in enumerate(hostile_frames(right, INPUTS)):
        events, code = read(reader_side, data)
        assert read(reader_side, data, random.Random(number)) == (events, code), data
        # Of messages, websockets leaves it to others whether text is UTF-8.
        if code != 1007:
            refused = code is not None
            # It looks at a frame when all of it has come.
            whole = data + bytes(MAX_BYTES) if refused else data
            assert is_refused_by_websockets(reader_side, data) <= refused, data
            assert refused is is_refused_by_websockets(reader_side, whole), data
        violations += code is not None
    assert INPUTS // 10 < violations < INPUTS


def is_refused_by_websockets(side: Side, data: bytes) -> bool:
    """Whether websockets closes a connection on which these bytes come for what they are."""
    protocol = Protocol(side, state=State.OPEN, max_size=MAX_BYTES)
    protocol.receive_data(data)
    return isinstance(protocol.parser_exc, PayloadTooBig | ProtocolError | UnicodeDecodeError)


def broken(side: Side) -> dict[str, tuple[bytes, int]]:
    """Bytes that break a rule, and the code that has to be answered."""
    other = Side.CLIENT if side is Side.SERVER else Side.SERVER
    bit, key = (0x80, bytes(4)) if side is Side.SERVER else (0, b"")
    return {
        "masked as only the other end's": (sent(other, 1, b"x"), 1002),
        "a reserved bit": (bytes((0xC1, bit)) + key, 1002),
        "a reserved opcode": (bytes((0x83, bit)) + key, 1002),
        "a reserved control opcode": (bytes((0x8B, bit)) + key, 1002),
        "the rest of none": (sent(side, 0, b"x"), 1002),
        "a message within another": (sent(side, 1, b"x", fin=False) + sent(side, 1, b"x"), 1002),
        "a ping in parts": (bytes((0x09, bit)) + key, 1002),
        "a long ping": (bytes((0x89, bit | 126, 0, 126)) + key, 1002),
        "no UTF-8": (sent(side, 1, b"\xff"), 1007),
        "no UTF-8 in parts": (sent(side, 1, "é".encode()[:1], fin=False) + sent(side, 0, b"x"), 1007),
        "too large": (bytes((0x81, bit | 127, 0, 0, 0, 0, 0, 1, 0x86, 0xA1)) + key, 1009),
        "larger than anything": (bytes((0x82, bit | 127)) + b"\xff" * 8 + key, 1009),
        "too large together": (sent(side, 2, bytes(MAX_BYTES), fin=False) + sent(side, 0, b"x"), 1009),
        "half a close code": (sent(side, 8, b"\x03"), 1002),
        "a close code that never travels": (sent(side, 8, b"\x03\xed"), 1002),
        "a close code of nobody": (sent(side, 8, b"\x13\x88"), 1002),
        "a reason that is no UTF-8": (sent(side, 8, b"\x03\xe8\xff"), 1007),
    }


@pytest.mark.parametrize("fault", list(broken(Side.CLIENT)))
def test_a_violation_has_its_code_and_nothing_is_read_after_it(fault: str, reader_side: Side) -> None:
    data, code = broken(reader_side)[fault]
    before, after = sent(reader_side, 1, b"before"), sent(reader_side, 1, b"after")
    assert read(reader_side, before + data + after) == ([(Opcode.TEXT, "before")], code)


def test_a_message_may_be_as_large_as_the_limit(reader_side: Side) -> None:
    payload = bytes(MAX_BYTES)
    assert read(reader_side, sent(reader_side, 2, payload)) == ([(Opcode.BINARY, payload)], None)
    parts = sent(reader_side, 2, payload[1:], fin=False) + sent(reader_side, 9, b"x" * 125)
    parts += sent(reader_side, 0, b"\0")
    assert read(reader_side, parts) == ([(Opcode.PING, b"x" * 125), (Opcode.BINARY, payload)], None)


@pytest.mark.parametrize("close", [Close(1000, "bye"), Close(1012), Close(4999, "é" * 61), Close(NO_STATUS)])
def test_a_close_says_its_code_and_reason_and_ends_what_is_read(close: Close, reader_side: Side) -> None:
    data = sent(reader_side, Opcode.CLOSE, close.payload)
    assert read(reader_side, data + sent(reader_side, 1, b"after")) == ([(Opcode.CLOSE, close)], None)


@pytest.mark.parametrize("size", SIZES)
def test_websockets_reads_what_is_written(size: int, reader_side: Side) -> None:
    payload = random.Random(size).randbytes(size)
    written = (
        frame(Opcode.BINARY, payload)
        if reader_side is Side.CLIENT
        else masked_frame(Opcode.BINARY, payload, b"\x01\xfe\x80\x7f", apply_mask)
    )
    protocol = Protocol(reader_side, state=State.OPEN, max_size=None)
    protocol.receive_data(written)
    (event,) = protocol.events_received()
    assert isinstance(event, Frame)
    assert (event.opcode, event.fin, bytes(event.data)) == (Theirs.BINARY, True, payload)


def test_a_mask_is_in_the_bytes_that_are_written() -> None:
    assert masked_frame(Opcode.TEXT, b"abcd", b"\x01\x02\x03\x04", apply_mask) == (
        b"\x81\x84\x01\x02\x03\x04" + bytes(a ^ b for a, b in zip(b"abcd", b"\x01\x02\x03\x04", strict=True))
    )


@pytest.mark.parametrize("size", [0, 2])
def test_a_message_in_small_parts_takes_the_memory_of_its_bytes(size: int) -> None:
    reader = FrameReader(1 << 20)
    reader.feed(Frame(Theirs.BINARY, b"", fin=False).serialize(mask=False))
    parts = Frame(Theirs.CONT, b"ab"[:size], fin=False).serialize(mask=False) * 1000
    tracemalloc.start()
    try:
        for _ in range(100):
            assert reader.feed(parts) == []
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 600_000
