from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openenv_gym_protocol.websocket_frames import Opcode
from openenv_gym_server.sockets.codec import FrameReader
from openenv_gym_server.sockets.line import Line
from websockets.frames import Frame

from tests.support.direct_sockets import MAX_BYTES

PATIENCE = 20.0


class Calls:
    """An event loop as far as a line knows it: notes what it is to call."""

    def __init__(self) -> None:
        self.noted: list[Callable[[], object]] = []

    def call_soon_threadsafe(self, call: Callable[..., object], *arguments: Any) -> None:
        self.noted.append(lambda: call(*arguments))


class Ends:
    """Both ends of a connection, of which one is lent."""

    def __init__(self) -> None:
        self.server, self.client = socket.socketpair()
        self.server.setblocking(False)
        self.calls: Any = Calls()
        self.given_back: list[Line] = []
        self.line = self.lent()

    def lent(self, when_ended: Callable[[], None] = lambda: None) -> Line:
        reader = FrameReader(MAX_BYTES)
        give_back = self.given_back.append
        return Line(self.server.fileno(), reader, self.calls, give_back=give_back, when_ended=when_ended)

    def send(self, *frames: tuple[Opcode, bytes]) -> None:
        self.client.sendall(b"".join(masked(opcode, payload) for opcode, payload in frames))

    @property
    def is_given_back(self) -> bool:
        """Whether the event loop is to take the line back; it is told once."""
        assert len(self.calls.noted) == (not self.line.is_lent)
        return bool(self.calls.noted)

    def received(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            data += self.client.recv(size - len(data))
        return bytes(data)


def masked(opcode: Opcode, payload: bytes) -> bytes:
    return Frame(opcode, payload).serialize(mask=True)  # type: ignore[arg-type]  # the numbers are the same


def plain(payload: bytes) -> bytes:
    return Frame(Opcode.BINARY, payload).serialize(mask=False)  # type: ignore[arg-type]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    with ends.server, ends.client:
        yield ends


def test_whole_messages_are_read_one_by_one(ends: Ends) -> None:
    assert ends.line.read() is None
    for message in (b"one", b"two"):
        ends.send((Opcode.BINARY, message))
        assert ends.line.read() == message
    assert ends.line.read() is None
    assert not ends.is_given_back
    ends.line.end()


def test_a_message_in_two_pieces_is_read_when_the_second_has_come(ends: Ends) -> None:
    data = masked(Opcode.BINARY, b"in two pieces")
    ends.client.sendall(data[:8])
    assert ends.line.read() is None
    ends.client.sendall(data[8:] + data[:8])
    assert ends.line.read() == b"in two pieces"
    ends.client.sendall(data[8:])
    assert ends.line.read() == b"in two pieces"
    assert not ends.is_given_back


def test_a_message_is_heard_when_it_comes(ends: Ends) -> None:
    before = ends.line.heard_at
    assert ends.line.read() is None
    assert ends.line.heard_at == before
    ends.send((Opcode.BINARY, b"message"))
    ends.line.read()
    assert ends.line.heard_at > before


@pytest.mark.parametrize(
    "frames",
    [
        [(Opcode.BINARY, b"one"), (Opcode.BINARY, b"two")],
        [(Opcode.TEXT, b"text")],
        [(Opcode.PING, b"there?")],
        [(Opcode.CLOSE, b"\3\xe8")],
        [(Opcode.BINARY, b"one"), (Opcode.PING, b"")],
    ],
)
def test_all_but_a_message_alone_is_left_to_the_event_loop(ends: Ends, frames: list[tuple[Opcode, bytes]]) -> None:
    ends.send(*frames)
    assert ends.line.read() is None
    assert ends.is_given_back
    events = [(opcode, payload.decode() if opcode is Opcode.TEXT else payload) for opcode, payload in frames]
    assert ends.line.end() == (b"", events)


def test_a_message_before_a_violation_is_left_to_the_event_loop(ends: Ends) -> None:
    ends.client.sendall(masked(Opcode.BINARY, b"good") + plain(b"unmasked"))
    assert ends.line.read() is None
    assert ends.is_given_back
    assert ends.line.end().events == [(Opcode.BINARY, b"good")]


def test_a_violation_is_left_to_the_event_loop(ends: Ends) -> None:
    ends.client.sendall(plain(b"unmasked"))
    assert ends.line.read() is None
    assert ends.is_given_back


@pytest.mark.parametrize("begun", [0, 5])
def test_the_end_of_the_client_is_left_to_the_event_loop(ends: Ends, begun: int) -> None:
    ends.client.sendall(masked(Opcode.BINARY, b"a message")[:begun])
    ends.client.close()
    assert [ends.line.read(), ends.line.read() if begun else None] == [None, None]
    assert ends.is_given_back
    assert ends.line.end() == (b"", [])


def test_a_connection_that_broke_is_left_to_the_event_loop_with_what_was_not_sent(ends: Ends) -> None:
    ends.client.close()
    ends.line.write(b"answer")
    assert ends.is_given_back
    assert ends.line.end() == (plain(b"answer"), ())


def test_answers_are_sent_in_order(ends: Ends) -> None:
    ends.line.write(b"one")
    ends.line.write(b"two")
    assert not ends.is_given_back
    assert ends.received(10) == plain(b"one") + plain(b"two")


def test_what_the_connection_does_not_take_is_left_to_the_event_loop_in_order(ends: Ends) -> None:
    large = bytes(range(256)) * 20_000
    ends.line.write(large)
    assert ends.is_given_back
    begun = ends.received(100_000)  # there is room again, which what comes later must not take
    ends.line.write(b"after it")
    left = ends.line.end()
    whole = plain(large) + plain(b"after it")
    assert len(plain(b"after it")) < len(left.unsent) < len(whole)
    assert begun + ends.received(len(whole) - len(left.unsent) - len(begun)) + left.unsent == whole


def test_a_line_is_given_back_once_with_what_came_first(ends: Ends) -> None:
    ends.line.give_back_message(b"asks something else")
    ends.line.give_back()
    (call,) = ends.calls.noted
    call()
    assert ends.given_back == [ends.line]
    assert ends.line.end().events == [(Opcode.BINARY, b"asks something else")]


def test_a_line_that_was_taken_back_is_not_given_back(ends: Ends) -> None:
    ends.line.end()
    ends.line.give_back()
    assert ends.calls.noted == []


def test_a_line_of_a_loop_that_is_closed_is_given_back_to_nobody(ends: Ends) -> None:
    ends.calls = asyncio.new_event_loop()
    ends.calls.close()
    line = ends.lent()
    line.give_back()
    assert not line.is_lent


def test_a_line_is_taken_back_when_the_thread_is_not_at_it_and_not_before(ends: Ends) -> None:
    ended: list[bool] = []
    line = ends.lent(when_ended=lambda: ended.append(line.lock.locked()))
    taking_back = threading.Thread(target=line.end)
    with line.lock:
        taking_back.start()
        line.write(b"answer")
        assert ended == []
    taking_back.join(PATIENCE)
    assert ended == [True]
    assert ends.received(8) == plain(b"answer")
