"""A connection that the event loop lends to a thread, and has back when it needs it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from openenv_gym_server.sockets import direct
from openenv_gym_server.sockets.direct import DirectSocket
from openenv_gym_server.sockets.line import Line
from websockets.frames import Close

from tests.support.certificates import certificates
from tests.support.direct_sockets import Noted, Play, Scene, scene

PATIENCE = 20.0


class Borrower(Noted):
    """A conversation that asks for its connection to be lent whenever a message comes."""

    def __init__(self) -> None:
        super().__init__()
        self.server: DirectSocket | None = None
        self.line: Line | None = None
        self.ended = 0

    def receive(self, frame: str | bytes) -> None:
        if self.server is not None:
            self.line = self.server.lend(self._when_ended)
        super().receive(frame)

    def _when_ended(self) -> None:
        self.ended += 1
        self.changed.set()

    @property
    def lent(self) -> Line:
        assert self.line is not None
        return self.line


@pytest.fixture
def for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a line lent until something other than the time ends it."""
    monkeypatch.setattr(direct, "_LENT_SECONDS", 10 * PATIENCE)


@asynccontextmanager
async def lending(**settings: Any) -> AsyncIterator[tuple[Scene, Borrower]]:
    """A scene in which a first message has come."""
    talk = Borrower()
    async with scene(talk=talk, **settings) as at:
        talk.server = at.server
        await say(at, b"first")
        yield at, talk
        talk.server = None
        at.server.take_back()  # so that the end of the client is seen


async def say(at: Scene, *messages: bytes) -> None:
    """Has messages come, all at once."""
    count = len(at.talk.received) + len(messages)
    for message in messages:
        at.client.rules.send_binary(message)
    at.client.flush()
    await at.talk.until(lambda: len(at.talk.received) == count)


def hear(line: Line) -> bytes | None:
    """Waits for a message on a thread, or for the line to be lent no more."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with line.lock:
            message = line.read() if line.is_lent else None
        if message is not None or not line.is_lent:
            return message
    raise AssertionError("nothing came")


async def payloads(at: Scene, count: int) -> list[bytes]:
    frames = [await at.client.frame() for _ in range(count)]
    return [bytes(frame.data) for frame in frames if frame is not None]


@pytest.mark.usefixtures("for_long")
def test_a_thread_reads_and_answers_until_it_gives_the_line_back(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            for message in (b"second", b"third"):
                at.client.rules.send_binary(message)
                at.client.flush()
                assert await asyncio.to_thread(hear, talk.lent) == message
                with talk.lent.lock:
                    talk.lent.write(b"answer of " + message)
            assert await payloads(at, 2) == [b"answer of second", b"answer of third"]
            assert talk.received == [b"first"]
            with talk.lent.lock:
                talk.lent.give_back_message(b"fourth")
            await talk.until(lambda: talk.received == [b"first", b"fourth"])
            assert talk.ended == 1
            await say(at, b"fifth")
            assert talk.lent.is_lent

    play(act)


@pytest.mark.usefixtures("for_long")
def test_what_comes_at_once_is_the_event_loops(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            at.server.take_back()
            await say(at, b"second", b"third")
            assert talk.line is None
            at.client.rules.send_binary(b"fourth")
            data = b"".join(at.client.rules.data_to_send())
            at.client.writer.write(data + data[:3])
            await talk.until(lambda: len(talk.received) == 4)
            assert talk.line is None
            at.client.writer.write(data[3:])
            await talk.until(lambda: len(talk.received) == 5)
            assert talk.lent.is_lent

    play(act)


@pytest.mark.usefixtures("for_long")
def test_one_of_two_connections_is_not_lent(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            other = object()
            at.server.take_back()
            at.connections.add(other)
            await say(at, b"second")
            assert talk.line is None
            at.connections.discard(other)

    play(act)


@pytest.mark.usefixtures("for_long")
def test_a_connection_is_lent_once_at_a_time_and_not_without_a_message(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, _):
            assert at.server.lend(lambda: None) is None
            at.server.take_back()
            assert at.server.lend(lambda: None) is None

    play(act)


@pytest.mark.usefixtures("for_long")
def test_a_connection_on_which_something_waits_to_be_read_or_written_is_not_lent(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            at.server.send(bytes(50_000_000))
            await say(at, b"second")
            assert talk.line is None
            assert await payloads(at, 1) == [bytes(50_000_000)]
            await at.talk.until(lambda: at.talk.told_sent == 1)
            await say(at, b"third")
            assert talk.lent.is_lent

    play(act)


@pytest.mark.usefixtures("for_long")
def test_an_encrypted_connection_is_not_lent(play: Play, tmp_path: Path) -> None:
    async def act() -> None:
        async with scene(tls=certificates(tmp_path)) as at:
            await say(at, b"first")
            assert at.server.lend(lambda: None) is None
            at.server.send(b"answer")
            assert await payloads(at, 1) == [b"answer"]

    play(act)


@pytest.mark.usefixtures("for_long")
def test_a_connection_that_is_read_no_further_is_not_lent(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            await say(at, b"first")
            at.server.pause_reading()
            assert at.server.lend(lambda: None) is None
            at.server.resume_reading()
            assert at.server.lend(lambda: None) is not None
            at.server.take_back()

    play(act)


@pytest.mark.usefixtures("for_long")
def test_what_is_sent_follows_what_the_thread_has_not_sent_yet(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            large = bytes(10_000_000)
            with talk.lent.lock:
                talk.lent.write(large)
                talk.lent.write(b"small")
            assert not talk.lent.is_lent
            at.server.send(b"of the event loop")
            assert await payloads(at, 3) == [large, b"small", b"of the event loop"]
            await say(at, b"second")

    play(act)


@pytest.mark.usefixtures("for_long")
def test_what_the_thread_leaves_is_taken_before_what_comes_after(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            at.client.rules.send_text(b"second")
            at.client.flush()
            await asyncio.to_thread(hear, talk.lent)
            await say(at, b"third")
            assert talk.received == [b"first", "second", b"third"]

    play(act)


@pytest.mark.usefixtures("for_long")
def test_a_ping_is_answered_though_the_thread_reads_it(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            at.client.rules.send_ping(b"there?")
            at.client.flush()
            assert await asyncio.to_thread(hear, talk.lent) is None
            assert await payloads(at, 1) == [b"there?"]

    play(act)


@pytest.mark.usefixtures("for_long")
@pytest.mark.parametrize(("data", "code"), [(bytes(1000), 1002), (b"\x82\xff" + bytes(4) + b"\7" * 8, 1009)])
def test_a_violation_is_told_though_the_thread_reads_it(play: Play, data: bytes, code: int) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            at.client.writer.write(data)
            assert await asyncio.to_thread(hear, talk.lent) is None
            close = await at.client.close()
            assert close is not None
            assert close.code == code

    play(act)


@pytest.mark.usefixtures("for_long")
def test_the_close_of_a_client_is_answered_though_the_thread_reads_it(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            at.client.rules.send_close(4000, "done")
            at.client.flush()
            assert await asyncio.to_thread(hear, talk.lent) is None
            assert await at.client.close() == Close(4000, "")
            await at.serving
            assert at.server.close_code == 4000

    play(act)


@pytest.mark.usefixtures("for_long")
def test_the_end_of_a_client_is_noticed_though_the_thread_reads_it(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            connection = at.client.writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            at.client.writer.transport.abort()
            assert await asyncio.to_thread(hear, talk.lent) is None
            await at.serving
            assert (at.server.close_code, talk.ended) == (1006, 1)

    play(act)


@pytest.mark.usefixtures("for_long")
def test_a_server_that_closes_or_ends_takes_the_line_back(play: Play) -> None:
    async def act() -> None:
        for code in (1013, 1012):
            async with lending() as (at, talk):
                with talk.lent.lock:
                    talk.lent.write(b"answer")
                if code == 1012:
                    at.server.shutdown()
                else:
                    at.server.close(code)
                assert not talk.lent.is_lent
                assert await payloads(at, 1) == [b"answer"]
                assert await at.client.close() == Close(code, "")
                at.client.flush()
                await at.serving

    play(act)


@pytest.mark.usefixtures("for_long")
def test_a_connection_that_is_cut_is_the_threads_no_more(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            at.server.abort()
            assert (talk.lent.is_lent, talk.ended) == (False, 1)
            await at.serving

    play(act)


def test_a_line_is_taken_back_from_a_thread_that_hears_nobody(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            await talk.until(lambda: talk.ended == 1)
            await say(at, b"second")
            await talk.until(lambda: talk.ended == 2)

    play(act)


def test_a_line_is_taken_back_when_another_connection_comes(play: Play) -> None:
    async def act() -> None:
        async with lending() as (at, talk):
            other = object()
            talk.lent.heard_at += 10 * PATIENCE  # nobody can be heard so late: only the other one ends it
            at.connections.add(other)
            await talk.until(lambda: talk.ended == 1)
            at.connections.discard(other)

    play(act)


@pytest.mark.usefixtures("for_long")
def test_the_event_loop_asks_for_no_life_on_a_lent_line(play: Play) -> None:
    async def act() -> None:
        async with lending(ping_interval=0.01, ping_timeout=PATIENCE) as (at, talk):
            timers: list[object] = []
            while len(timers) < 4:
                if at.server._timer not in timers:
                    timers.append(at.server._timer)
                await asyncio.sleep(0.001)
            with talk.lent.lock:
                talk.lent.write(b"first of all")
            assert await payloads(at, 1) == [b"first of all"]

    play(act)
