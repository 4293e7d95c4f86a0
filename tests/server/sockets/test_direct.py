from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import pytest
from openenv_gym_server.sockets import awake, direct
from websockets.frames import Close, Opcode

from tests.support.direct_sockets import Play, Scene, scene

PATIENCE = 20.0


@pytest.fixture
def awake_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the event loop turn after a reply until something other than the time ends it."""
    monkeypatch.setattr(awake, "AWAKE_SECONDS", 10 * PATIENCE)


def is_turning(at: Scene) -> bool:
    return at.server._awake._is_scheduled


def test_messages_go_both_ways_and_the_client_closes(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            assert at.connections == {at.server}
            at.client.rules.send_text("é".encode())
            at.client.rules.send_binary(b"\0\1")
            at.client.rules.send_ping(b"there?")
            at.client.flush()
            await at.talk.until(lambda: len(at.talk.received) == 2)
            assert at.talk.received == ["é", b"\0\1"]
            at.server.send("ü")
            at.server.send(b"\2")
            frames = [await at.client.frame() for _ in range(3)]
            assert [(frame.opcode, bytes(frame.data)) for frame in frames if frame] == [
                (Opcode.PONG, b"there?"),
                (Opcode.TEXT, "ü".encode()),
                (Opcode.BINARY, b"\2"),
            ]
            assert at.talk.told_sent == 2
            at.client.rules.send_close(4000, "done")
            at.client.flush()
            assert await at.client.close() == Close(4000, "")
            assert await at.client.frame() is None
            await at.serving
            assert at.server.close_code == 4000

    play(act)


def test_a_close_of_the_server_waits_for_the_clients_answer(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            at.server.send("last")
            at.server.close(1013)
            at.server.close(1000)
            at.server.send("too late")
            assert at.server.close_code == 1013
            text = await at.client.frame()
            assert text is not None
            assert bytes(text.data) == b"last"
            assert await at.client.close() == Close(1013, "")
            assert not at.serving.done()
            at.client.flush()  # the answer, by the rules
            assert await at.client.frame() is None

    play(act)


def test_a_client_that_does_not_answer_a_close_is_dropped(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "_CLOSE_SECONDS", 0.05)

    async def act() -> None:
        async with scene() as at:
            at.server.close(1000)
            await at.serving

    play(act)


def test_what_a_client_sends_after_the_close_reaches_nobody(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            at.server.close(1000)
            at.client.rules.send_text(b"too late")
            at.client.flush()
            assert await at.client.close() == Close(1000, "")
            at.client.flush()
            await at.serving
            assert at.talk.received == []

    play(act)


@pytest.mark.parametrize(
    ("data", "code"), [(bytes(1000), 1002), (b"\x82\xff" + b"\0\0\0\0\7" + bytes(3_000_000), 1009)]
)
def test_a_violation_is_told_though_the_client_goes_on_sending(play: Play, data: bytes, code: int) -> None:
    async def act() -> None:
        async with scene() as at:
            at.client.writer.write(data)
            close = await at.client.close()
            assert close is not None
            assert close.code == code
            assert await at.client.frame() is None

    play(act)


def test_a_silent_client_is_asked_for_life_and_then_closed(play: Play) -> None:
    async def act() -> None:
        async with scene(ping_interval=0.05, ping_timeout=0.05) as at:
            ping = await at.client.frame()
            assert ping is not None
            assert ping.opcode is Opcode.PING
            assert await at.client.close() == Close(1011, "keepalive ping timeout")
            await at.serving

    play(act)


def test_a_client_that_answers_pings_lives_on(play: Play) -> None:
    async def act() -> None:
        async with scene(ping_interval=0.02, ping_timeout=PATIENCE) as at:
            for _ in range(3):
                ping = await at.client.frame()
                assert ping is not None
                assert ping.opcode is Opcode.PING
                at.client.flush()  # the pong, by the rules
            assert at.talk.ends == 0

    play(act)


def test_frames_that_the_client_does_not_read_are_told_as_sent_when_it_does(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            frame = bytes(100_000)
            count = 0
            while at.talk.told_sent == count:
                at.server.send(frame)
                count += 1
                await asyncio.sleep(0)
            assert at.talk.told_sent < count
            for number in range(1000):
                at.client.rules.send_ping(str(number).encode())
            at.client.flush()
            await at.client.writer.drain()
            at.client.rules.send_text(b"after the pings")
            at.client.flush()
            await at.talk.until(lambda: at.talk.received != [])
            pongs, read = list[bytes](), 0
            while read < count or b"999" not in pongs:
                got = await at.client.frame()
                assert got is not None
                pongs += [bytes(got.data)] if got.opcode is Opcode.PONG else []
                read += got.opcode is Opcode.BINARY
            assert len(pongs) < 1000  # a client that reads nothing fills no memory with them
            await at.talk.until(lambda: at.talk.told_sent == count)

    play(act)


def test_reading_can_be_paused_and_the_end_of_the_client_is_noticed_all_the_same(play: Play) -> None:
    async def act() -> None:
        async with scene(ping_interval=0.02, ping_timeout=0.02) as at:
            at.server.pause_reading()
            at.client.rules.send_text(b"waits")
            at.client.flush()
            for _ in range(3):
                ping = await at.client.frame()  # no answer can be seen, and none is missed
                assert ping is not None
                assert ping.opcode is Opcode.PING
            assert at.talk.received == []
            at.server.resume_reading()
            await at.talk.until(lambda: at.talk.received == ["waits"])
            at.server.pause_reading()
            connection = at.client.writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            at.client.writer.transport.abort()
            await at.serving

    play(act)


def test_a_server_that_ends_gives_the_answer_that_it_owes_first(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            at.talk.owes = True
            at.server.shutdown()
            at.client.rules.send_text(b"too late")
            at.client.rules.send_ping(b"has come")
            at.client.flush()
            pong = await at.client.frame()
            assert pong is not None
            assert pong.opcode is Opcode.PONG
            at.talk.owes = False
            at.server.send("the answer")
            answer = await at.client.frame()
            assert answer is not None
            assert bytes(answer.data) == b"the answer"
            assert await at.client.close() == Close(1012, "")
            await at.serving
            assert at.talk.received == []

    play(act)


def test_a_server_that_ends_says_so(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            at.server.shutdown()
            assert await at.client.close() == Close(1012, "")
            await at.serving
            assert at.server.close_code == 1012

    play(act)


def test_a_client_that_reads_nothing_does_not_hold_up_the_end(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "_CLOSE_SECONDS", 0.05)

    async def act() -> None:
        async with scene() as at:
            at.server.send(bytes(50_000_000))
            at.server.shutdown()
            await at.serving

    play(act)


def test_a_client_that_reads_nothing_does_not_keep_its_session(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "_UNREAD_SECONDS", 0.05)

    async def act() -> None:
        async with scene() as at:
            at.server.send(bytes(50_000_000))
            await at.serving
            assert (at.server.close_code, at.talk.ends) == (1006, 1)

    play(act)


def test_a_client_that_reads_in_time_lives_on(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "_UNREAD_SECONDS", PATIENCE)

    async def act() -> None:
        async with scene() as at:
            at.server.send(bytes(10_000_000))
            assert await at.client.frame() is not None
            await at.talk.until(lambda: at.talk.told_sent == 1)
            assert at.server.close_code is None
            at.server.close(1000)
            assert await at.client.close() == Close(1000, "")
            at.client.flush()
            await at.serving

    play(act)


def test_a_client_that_only_ends_its_half_is_closed(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            at.client.writer.write_eof()
            await at.serving
            at.server.send("nobody")

    play(act)


def test_a_client_that_ends_its_half_and_reads_nothing_is_cut(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "_CLOSE_SECONDS", 0.05)

    async def act() -> None:
        async with scene() as at:
            at.server.send(bytes(50_000_000))
            at.client.writer.write_eof()
            await at.serving

    play(act)


def test_a_cancelled_connection_is_cut(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            at.serving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await at.serving
            assert at.server.close_code == 1006
            with suppress(ConnectionResetError):
                assert await at.client.frame() is None
            at.serving = asyncio.ensure_future(asyncio.sleep(0))

    play(act)


@pytest.mark.usefixtures("awake_for_long")
def test_after_a_reply_to_the_only_client_the_event_loop_turns_until_its_next_request(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            at.server.send("reply")
            for _ in range(5):
                await asyncio.sleep(0)
                assert is_turning(at)
            at.client.rules.send_text(b"request")
            at.client.flush()
            await at.talk.until(lambda: at.talk.received == ["request"])
            await asyncio.sleep(0)
            assert not is_turning(at)

    play(act)


@pytest.mark.usefixtures("awake_for_long")
def test_the_event_loop_does_not_turn_while_work_is_under_way(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            at.talk.owes = True
            at.server.send("the first of two replies")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not is_turning(at)
            at.talk.owes = False
            at.server.send("the second")
            await asyncio.sleep(0)
            assert is_turning(at)

    play(act)


@pytest.mark.usefixtures("awake_for_long")
def test_the_event_loop_does_not_turn_for_one_of_two_connections(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            other = object()
            at.server.send("reply")
            assert is_turning(at)
            at.connections.add(other)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not is_turning(at)
            at.server.send("reply")
            assert not is_turning(at)
            at.connections.discard(other)

    play(act)


@pytest.mark.usefixtures("awake_for_long")
def test_the_event_loop_does_not_turn_for_a_connection_that_was_closed(play: Play) -> None:
    async def act() -> None:
        async with scene() as at:
            at.server.send("reply")
            at.server.close(1000)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not is_turning(at)

    play(act)
