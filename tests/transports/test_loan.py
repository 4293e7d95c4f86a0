"""A connection whose socket another thread writes and reads loses nothing when it goes back to the event loop."""

from __future__ import annotations

import asyncio
import math
import select
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from typing import Any, cast

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.websocket_frames import Close, Opcode, frame

from openenv_gym.transports import loan as loan_module
from openenv_gym.transports.base import Connection
from openenv_gym.transports.loan import Loan
from openenv_gym.transports.websocket_connection import WebSocketConnection
from tests.support.talking import Said, heard, of_client, talk

Told = asyncio.Queue[Any]
LARGE = 16_000_000
"""Bytes that no socket takes at once."""


def lending(
    body: Callable[[WebSocketConnection, Loan, Told], Awaitable[None]],
) -> Callable[[Connection, Told], Awaitable[None]]:
    """What ``talk`` runs: a body whose connection is lent."""

    async def run(connection: Connection, told: Told) -> None:
        lent, loan = cast(WebSocketConnection, connection), Loan()
        assert lent.can_be_lent
        assert loan.lend([lent])
        await body(lent, loan, told)

    return run


async def read(loan: Loan, told: Told, count: int = 1) -> None:
    """Reads on another thread until so much is told, or there is something for the event loop."""
    give_up = asyncio.get_running_loop().time() + 20.0
    while told.qsize() < count and not loan.is_over:
        assert asyncio.get_running_loop().time() < give_up
        await asyncio.to_thread(loan.read, lambda: told.qsize() >= count, math.inf, in_turn=None)


def test_a_frame_that_the_socket_does_not_take_at_once_is_written_by_the_event_loop() -> None:
    sent = asyncio.Event()
    came: Said = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        await sent.wait()
        frames = of_client()
        frames._max_bytes = LARGE
        came.extend(await heard(reader, frames, 3))
        writer.write(frame(Opcode.TEXT, b"all"))
        await reader.read()

    async def body(connection: WebSocketConnection, loan: Loan, told: Told) -> None:
        await asyncio.to_thread(connection.send, "before")
        await asyncio.to_thread(connection.send, bytes(range(256)) * (LARGE // 256))
        await asyncio.to_thread(connection.send, "behind")
        assert loan.is_over
        loan.take_back()
        sent.set()
        assert await told.get() == "all"

    talk(peer, lending(body))
    assert came == [
        (Opcode.TEXT, "before"),
        (Opcode.BINARY, bytes(range(256)) * (LARGE // 256)),
        (Opcode.TEXT, "behind"),
    ]


def test_the_rest_of_a_frame_is_read_by_the_event_loop() -> None:
    begun = asyncio.Event()

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        whole = frame(Opcode.BINARY, bytes(200_000))
        writer.write(accepted + frame(Opcode.TEXT, b"one") + whole[:100_000])
        await begun.wait()
        writer.write(whole[100_000:])
        await reader.read()

    async def body(connection: WebSocketConnection, loan: Loan, told: Told) -> None:
        await read(loan, told)
        assert await told.get() == "one"
        await asyncio.to_thread(loan.read_now)
        loan.take_back()
        begun.set()
        assert await told.get() == bytes(200_000)

    talk(peer, lending(body))


def test_who_reads_answers_pings() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        frames = of_client()
        await heard(reader, frames, 1)
        writer.write(frame(Opcode.PING, b"are you there"))
        answer = await heard(reader, frames, 1)
        writer.write(frame(Opcode.TEXT, repr(answer).encode()))
        await reader.read()

    async def body(connection: WebSocketConnection, loan: Loan, told: Told) -> None:
        await asyncio.to_thread(connection.send, "go on")
        await read(loan, told)
        assert await told.get() == repr([(Opcode.PONG, b"are you there")])
        assert not loan.is_over

    talk(peer, lending(body))


def test_a_pong_that_who_reads_finds_keeps_the_connection() -> None:
    is_lent = asyncio.Event()

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        frames = of_client()
        ((_, ping),) = await heard(reader, frames, 1)
        writer.write(frame(Opcode.TEXT, b"pinged"))
        await is_lent.wait()
        writer.write(frame(Opcode.PONG, ping) + frame(Opcode.TEXT, b"answered"))
        ((_, ping),) = await heard(reader, frames, 1)
        writer.write(frame(Opcode.PONG, ping) + frame(Opcode.TEXT, b"answered again"))
        await reader.read()

    async def body(connection: Connection, told: Told) -> None:
        assert await told.get() == "pinged"
        loan = Loan()
        assert loan.lend([cast(WebSocketConnection, connection)])
        is_lent.set()
        await read(loan, told)
        assert await told.get() == "answered"
        loan.take_back()
        assert await told.get() == "answered again"

    talk(peer, body, ping_interval=0.01, ping_timeout=3.0)


@pytest.mark.parametrize(
    ("data", "expected", "answer"),
    [
        (frame(Opcode.CLOSE, Close(4321, "bye").payload), errors.ConnectionLost, 4321),
        (frame(Opcode.TEXT, b"\xff"), errors.ProtocolFailure, 1007),
    ],
)
def test_what_ends_a_connection_is_seen_to_by_the_event_loop(
    data: bytes, expected: type[errors.OpenEnvGymError], answer: int
) -> None:
    answers: Said = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        frames = of_client()
        await heard(reader, frames, 1)
        writer.write(frame(Opcode.TEXT, b"last") + data)
        answers.extend(await heard(reader, frames, 1))

    async def body(connection: WebSocketConnection, loan: Loan, told: Told) -> None:
        await asyncio.to_thread(connection.send, "go on")
        await read(loan, told, 2)
        assert loan.is_over
        assert await told.get() == "last"
        assert told.empty()
        loan.take_back()
        assert type(await told.get()) is expected
        assert not connection.is_open

    talk(peer, lending(body))
    assert [said.code for _, said in answers] == [answer]


def test_a_connection_that_broke_under_who_reads_is_lost() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        await writer.drain()
        await reader.readexactly(1)
        writer.transport.abort()

    async def body(connection: WebSocketConnection, loan: Loan, told: Told) -> None:
        await asyncio.to_thread(connection.send, "leave")
        await read(loan, told)
        await asyncio.to_thread(connection.send, "nobody reads this")
        assert told.empty()
        loan.take_back()
        assert type(await told.get()) is errors.ConnectionLost

    talk(peer, lending(body))


@pytest.mark.parametrize("how", ["abort", "dismiss"])
def test_ending_a_lent_connection_is_left_to_the_event_loop(how: str) -> None:
    said: list[bytes] = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        said.append(await reader.read())

    async def body(connection: WebSocketConnection, loan: Loan, told: Told) -> None:
        await asyncio.to_thread(getattr(connection, how))
        assert loan.is_over
        assert told.empty()
        loan.take_back()
        assert "This end" in (await told.get()).message

    talk(peer, lending(body))
    assert [len(each) for each in said] == [0 if how == "abort" else 8]


def test_a_loan_that_was_cut_short_ends_the_connection_with_a_goodbye() -> None:
    said: Said = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        said.extend(await heard(reader, of_client(), 1))

    async def body(connection: WebSocketConnection, loan: Loan, told: Told) -> None:
        loan.take_back(errors.SessionLost("interrupted"))
        error = await told.get()
        assert type(error) is errors.SessionLost
        assert error.message == "interrupted"
        assert not connection.is_open

    talk(peer, lending(body))
    assert said == [(Opcode.CLOSE, Close(1000))]


def test_connections_are_lent_together_or_not_at_all() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted + frame(Opcode.TEXT, b"one"))
        await reader.read()

    async def body(connection: Connection, told: Told) -> None:
        async def other(another: Connection, _: Told) -> None:
            await another.close()
            assert not Loan().lend([cast(WebSocketConnection, each) for each in (connection, another)])

        await asyncio.to_thread(talk, peer, other)
        assert await told.get() == "one", "it is still read by the event loop"

    talk(peer, body)


def test_who_reads_stops_when_another_thread_wants_the_connections() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        await reader.read()

    async def body(connection: WebSocketConnection, loan: Loan, told: Told) -> None:
        ended = threading.Event()

        def wait() -> None:
            loan.read(ended.is_set, math.inf, in_turn=None)
            ended.set()

        loan.is_wanted = True
        await asyncio.to_thread(wait)
        assert ended.is_set()
        assert not loan.is_over

    talk(peer, lending(body))


class Pair:
    """A connection that is two sockets, and counts what it reads."""

    is_awaited = True

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.got = b""

    def lend(self, loan: Loan) -> int | None:
        return self.ours.fileno()

    def take_back(self, cut_short: errors.OpenEnvGymError | None) -> None:
        self.ours.close()
        self.theirs.close()

    def read(self) -> bool:
        self.got += self.ours.recv(100)
        return True


class NotedPoll:
    """A poll object that keeps the time-outs, and may do something before it looks."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self.timeouts: list[float] = []
        self.before: Callable[[], object] = lambda: None

    def register(self, number: int, events: int) -> None:
        self._poll.register(number, events)

    def poll(self, timeout: float) -> list[tuple[int, int]]:
        self.timeouts.append(timeout)
        self.before()
        return self._poll.poll(timeout)


Lent = Callable[[int], tuple[Loan, NotedPoll, list[Pair]]]


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lent]:
    """Lends so many connections, to whom nobody waits long for."""
    with ExitStack() as stack:

        def lend(count: int) -> tuple[Loan, NotedPoll, list[Pair]]:
            monkeypatch.setattr(loan_module, "PATIENCE", 0.004)
            pairs, loan, noted = [Pair() for _ in range(count)], Loan(), NotedPoll()
            loan._together = cast(select.poll, noted)
            assert loan.lend(pairs)
            stack.callback(loan.take_back)
            return loan, noted, pairs

        yield lend


def wait_in_vain(loan: Loan, noted: NotedPoll) -> bool:
    """Whether the caller was awake, before it slept."""
    noted.timeouts.clear()
    loan.read(lambda: False, math.inf, in_turn=None)
    *awake, asleep = noted.timeouts
    assert set(awake) <= {0}
    assert 0 < asleep <= 1000 * loan_module.PATIENCE
    return bool(awake)


def test_who_waits_for_a_slow_server_sleeps(lent: Lent) -> None:
    loan, noted, _ = lent(1)
    assert [wait_in_vain(loan, noted) for _ in range(12)] == [place in (0, 2, 5, 10) for place in range(12)]


def test_who_waits_for_a_quick_server_does_not_sleep(lent: Lent, monkeypatch: pytest.MonkeyPatch) -> None:
    loan, noted, (pair,) = lent(1)
    monkeypatch.setattr(loan_module, "PATIENCE", 100.0)
    monkeypatch.setattr(loan_module, "AWAKE_SECONDS", 50.0)
    noted.before = lambda: len(noted.timeouts) % 3 or pair.theirs.send(b"reply")
    for _ in range(3):
        pair.got = b""
        noted.timeouts.clear()
        loan.read(lambda: pair.got == b"reply", math.inf, in_turn=None)
        assert noted.timeouts == [0, 0, 0]


def test_who_waits_for_several_connections_sleeps(lent: Lent) -> None:
    loan, noted, _ = lent(2)
    assert not any(wait_in_vain(loan, noted) for _ in range(5))


def test_who_may_not_wait_awake_sleeps(lent: Lent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENENV_GYM_SPIN", "0")
    loan, noted, _ = lent(1)
    assert not any(wait_in_vain(loan, noted) for _ in range(5))
