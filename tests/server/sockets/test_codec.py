from __future__ import annotations

import itertools
import random
import tracemalloc
from collections.abc import Iterator

import pytest
from openenv_gym_protocol.websocket_frames import Opcode, frame
from openenv_gym_server.sockets.codec import Event, FrameReader, close_answer, close_payload, unmasked
from websockets.client import ClientProtocol
from websockets.exceptions import PayloadTooBig, ProtocolError
from websockets.frames import Close, Frame
from websockets.frames import Opcode as Theirs
from websockets.protocol import Protocol, Side, State
from websockets.uri import parse_uri

from tests.support.fuzz import INPUTS, hostile_frames

MAX_BYTES = 100_000


def of_client(opcode: int, payload: bytes, *, fin: bool = True, mask: bool = True) -> bytes:
    """A frame as websockets writes it."""
    return Frame(Theirs(opcode), payload, fin).serialize(mask=mask)


def split(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """The same bytes, as a network may deliver them."""
    at = 0
    while at < len(data):
        end = at + chance.choice((1, 1, 2, 3, 7, 50, 5000))
        yield data[at:end]
        at = end


def read(
    data: bytes, chance: random.Random | None = None, max_bytes: int = MAX_BYTES
) -> tuple[list[Event], int | None]:
    """What a reader makes of bytes: the events, and the code of a violation."""
    reader = FrameReader(max_bytes)
    pieces = [data] if chance is None else split(data, chance)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events, reader.violation.code if reader.violation else None


def drawn(chance: random.Random) -> tuple[bytes, list[Event]]:
    """Frames of a client that keeps the rules, and what they say."""
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
            data += of_client(opcode if number == 0 else 0, payload[start:end], fin=number == len(cuts))
            if number < len(cuts) and chance.random() < 0.5:
                data += of_client(Opcode.PING, b"between")
                events.append((Opcode.PING, b"between"))
        events.append((opcode, text if is_text else payload))
    return data, events


def test_messages_arrive_as_they_were_sent_however_the_bytes_are_split() -> None:
    for number in range(300):
        chance = random.Random(number)
        data, events = drawn(chance)
        assert read(data, chance) == (events, None), number
        assert read(data) == (events, None), number


def test_whoever_is_given_to_take_masks_off_does_it() -> None:
    taken: list[bytes] = []

    def unmask(payload: bytes, mask: bytes) -> bytes:
        taken.append(unmasked(payload, mask))
        return taken[-1]

    reader = FrameReader(MAX_BYTES, unmask)
    sent = [b"one", b"", b"x" * 70_000]
    assert reader.feed(b"".join(of_client(2, payload) for payload in sent)) == [(Opcode.BINARY, each) for each in sent]
    assert taken == sent


@pytest.mark.parametrize("size", [2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20 + 3])
def test_a_large_payload_is_unmasked_whole(size: int) -> None:
    payload = random.Random(size).randbytes(size)
    assert read(of_client(2, payload), max_bytes=size) == ([(Opcode.BINARY, payload)], None)


def test_hostile_bytes_are_judged_as_websockets_judges_them() -> None:
    right = [drawn(random.Random(number))[0][:400] for number in range(20)]
    violations = 0
    for number, data in enumerate(hostile_frames(right, INPUTS)):
        events, code = read(data)
        assert read(data, random.Random(number)) == (events, code), data
        # Of messages, websockets leaves it to others whether text is UTF-8.
        if code != 1007:
            refused = judged(events, code) is not None
            # It looks at a frame when all of it has come.
            whole = data + bytes(MAX_BYTES) if refused else data
            assert is_refused_by_websockets(data) <= refused is is_refused_by_websockets(whole), data
        violations += code is not None
    assert INPUTS // 10 < violations < INPUTS


def judged(events: list[Event], code: int | None) -> int | None:
    """The code of a violation, in a close frame as well."""
    if events and events[-1][0] is Opcode.CLOSE:
        payload = events[-1][1]
        assert isinstance(payload, bytes)
        answer = close_answer(payload)
        return None if answer == payload[:2] else int.from_bytes(answer, "big")
    return code


def is_refused_by_websockets(data: bytes) -> bool:
    """Whether websockets closes a connection on which these bytes come for what they are."""
    protocol = Protocol(Side.SERVER, state=State.OPEN, max_size=MAX_BYTES)
    protocol.receive_data(data)
    return isinstance(protocol.parser_exc, PayloadTooBig | ProtocolError | UnicodeDecodeError)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (of_client(1, b"x", mask=False), 1002),
        (b"\x89\x00", 1002),
        (b"\xc1\x80\x00\x00\x00\x00", 1002),
        (b"\x83\x80\x00\x00\x00\x00", 1002),
        (b"\x8b\x80\x00\x00\x00\x00", 1002),
        (of_client(0, b"x"), 1002),
        (of_client(1, b"x", fin=False) + of_client(1, b"x"), 1002),
        (b"\x09\x80\x00\x00\x00\x00", 1002),
        (b"\x89\xfe\x00\x7e\x00\x00\x00\x00", 1002),
        (of_client(1, b"\xff"), 1007),
        (of_client(1, "é".encode()[:1], fin=False) + of_client(0, b"x"), 1007),
        (b"\x81\xff\x00\x00\x00\x00\x00\x01\x86\xa1\x00\x00\x00\x00", 1009),
        (b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", 1009),
        (of_client(2, bytes(MAX_BYTES), fin=False) + of_client(0, b"x"), 1009),
    ],
    ids=itertools.count(),  # masks are drawn, and every worker of a run must call a test the same
)
def test_a_violation_has_its_code_and_nothing_is_read_after_it(data: bytes, code: int) -> None:
    before = of_client(1, b"before")
    assert read(before + data + of_client(1, b"after")) == ([(Opcode.TEXT, "before")], code)


def test_a_message_may_be_as_large_as_the_limit() -> None:
    payload = bytes(MAX_BYTES)
    assert read(of_client(2, payload)) == ([(Opcode.BINARY, payload)], None)
    parts = of_client(2, payload[1:], fin=False) + of_client(9, b"x" * 125) + of_client(0, b"\0")
    assert read(parts) == ([(Opcode.PING, b"x" * 125), (Opcode.BINARY, payload)], None)


@pytest.mark.parametrize("size", [0, 2])
def test_a_message_in_small_parts_takes_the_memory_of_its_bytes(size: int) -> None:
    reader = FrameReader(1 << 20)
    reader.feed(of_client(Opcode.BINARY, b"", fin=False))
    parts = of_client(Opcode.CONTINUATION, b"ab"[:size], fin=False) * 1000
    tracemalloc.start()
    try:
        for _ in range(100):
            assert reader.feed(parts) == []
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 600_000
    assert reader.feed(of_client(Opcode.CONTINUATION, b"!")) == [(Opcode.BINARY, b"ab"[:size] * 100_000 + b"!")]


def test_a_split_letter_is_whole_in_the_message() -> None:
    one, two = "é".encode()[:1], "é".encode()[1:]
    assert read(of_client(1, one, fin=False) + of_client(0, two)) == ([(Opcode.TEXT, "é")], None)


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536])
def test_a_client_reads_what_the_server_writes(size: int) -> None:
    client = ClientProtocol(parse_uri("ws://localhost/"), state=State.OPEN, max_size=None)
    client.receive_data(frame(Opcode.TEXT, b"x" * size))
    client.receive_data(frame(Opcode.CLOSE, close_payload(1012, "restart")))
    text, close = client.events_received()
    assert isinstance(text, Frame)
    assert isinstance(close, Frame)
    assert (text.opcode, text.fin, bytes(text.data)) == (Theirs.TEXT, True, b"x" * size)
    assert client.close_rcvd == Close(1012, "restart")


@pytest.mark.parametrize(
    ("payload", "answer"),
    [
        (b"", b""),
        (close_payload(1000, "bye"), close_payload(1000)),
        (close_payload(4000), close_payload(4000)),
        (b"\x03", close_payload(1002)),
        (close_payload(1005), close_payload(1002)),
        (close_payload(1016), close_payload(1002)),
        (close_payload(999), close_payload(1002)),
        (close_payload(5000), close_payload(1002)),
        (close_payload(1000) + b"\xff", close_payload(1007)),
    ],
)
def test_a_close_is_answered_with_its_code_or_with_what_is_wrong_with_it(payload: bytes, answer: bytes) -> None:
    assert close_answer(payload) == answer
