"""The data phase against a peer whose every byte the test decides."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.websocket_frames import NO_STATUS, Close, Opcode, frame
from websockets.asyncio.server import ServerConnection, serve

from openenv_gym.transports import websocket_connection
from openenv_gym.transports.base import Connection, ConnectionOptions
from openenv_gym.transports.websocket import open_websocket
from openenv_gym.transports.websocket_connection import WebSocketConnection
from tests.support.talking import PATIENCE, Hearing, Said, heard, of_client, talk


def test_bytes_that_come_one_by_one_from_the_handshake_on_are_read() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        for byte in accepted + frame(Opcode.TEXT, "é".encode()) + frame(Opcode.BINARY, bytes(300)):
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(0)
        await reader.read(1)

    async def body(connection: Connection, told: asyncio.Queue[Any]) -> None:
        assert await told.get() == "é"
        assert await told.get() == bytes(300)

    talk(peer, body)


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 9])
def test_frames_that_come_with_the_handshake_are_read(cut: int) -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        data = accepted + frame(Opcode.TEXT, b"one") + frame(Opcode.TEXT, b"two")
        end = len(accepted) - 4 + cut  # around the end of the response's head
        writer.write(data[:end])
        await writer.drain()
        writer.write(data[end:])
        await reader.read(1)

    async def body(connection: Connection, told: asyncio.Queue[Any]) -> None:
        assert [await told.get(), await told.get()] == ["one", "two"]

    talk(peer, body)


@pytest.mark.parametrize("close", [Close(1000, "bye"), Close(4321), Close(NO_STATUS)])
def test_a_close_is_answered_with_its_code(close: Close) -> None:
    answers: Said = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted + frame(Opcode.CLOSE, close.payload) + frame(Opcode.TEXT, b"after the end"))
        answers.extend(await heard(reader, of_client(), 1))

    async def body(connection: Connection, told: asyncio.Queue[Any]) -> None:
        error = await told.get()
        assert type(error) is errors.ConnectionLost
        assert error.close_code == close.code
        assert not connection.is_open
        with pytest.raises(errors.ConnectionLost):
            connection.send("late")
        await connection.close()
        assert told.empty()

    talk(peer, body)
    assert answers == [(Opcode.CLOSE, Close(close.code))]


@pytest.mark.parametrize(
    ("data", "code", "expected"),
    [
        (b"\x81\x81\x00\x00\x00\x00x", 1002, errors.ProtocolFailure),
        (frame(Opcode.CLOSE, b"\x03"), 1002, errors.ProtocolFailure),
        (frame(Opcode.TEXT, b"\xff"), 1007, errors.ProtocolFailure),
        (b"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 1009, errors.FrameTooLarge),
    ],
)
def test_a_server_that_breaks_a_rule_is_told_and_left(
    data: bytes, code: int, expected: type[errors.OpenEnvGymError]
) -> None:
    answers: Said = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted + data)
        answers.extend(await heard(reader, of_client(), 1))

    async def body(connection: Connection, told: asyncio.Queue[Any]) -> None:
        assert type(await told.get()) is expected

    talk(peer, body)
    assert [(opcode, said.code) for opcode, said in answers] == [(Opcode.CLOSE, code)]


def test_a_ping_is_answered_with_what_it_carried() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted + frame(Opcode.PING, b"are you there"))
        answer = await heard(reader, of_client(), 1)
        writer.write(frame(Opcode.TEXT, repr(answer).encode()))
        await reader.read(1)

    async def body(connection: Connection, told: asyncio.Queue[Any]) -> None:
        assert await told.get() == repr([(Opcode.PONG, b"are you there")])

    talk(peer, body)


@pytest.mark.parametrize("answers", [True, False])
def test_pings_go_on_while_they_are_answered_or_need_no_answer(answers: bool) -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        frames = of_client()
        seen: set[bytes] = set()
        while len(seen) < 3:
            for opcode, said in await heard(reader, frames, 1):
                assert opcode is Opcode.PING
                seen.add(said)
                if answers:
                    writer.write(frame(Opcode.PONG, said))
        writer.write(frame(Opcode.TEXT, b"three"))
        await reader.read(1)

    async def body(connection: Connection, told: asyncio.Queue[Any]) -> None:
        assert await told.get() == "three"
        assert connection.is_open

    talk(peer, body, ping_interval=0.01, ping_timeout=PATIENCE if answers else None)


def test_another_pong_than_the_pings_does_not_keep_a_connection() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        await heard(reader, of_client(), 1)
        writer.write(frame(Opcode.PONG, b"other"))
        await reader.read(65536)

    async def body(connection: Connection, told: asyncio.Queue[Any]) -> None:
        error = await told.get()
        assert type(error) is errors.ConnectionLost
        assert "ping" in error.message

    talk(peer, body, ping_interval=0.01, ping_timeout=0.05)


def test_a_server_that_sends_no_more_is_lost_though_it_still_reads() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        writer.write_eof()
        await reader.read()

    async def body(connection: Connection, told: asyncio.Queue[Any]) -> None:
        error = await told.get()
        assert type(error) is errors.ConnectionLost
        assert "without a goodbye" in error.message
        assert not connection.is_open

    talk(peer, body)


def test_a_server_that_does_not_answer_a_close_is_waited_for_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_connection, "CLOSE_TIMEOUT", 0.05)
    left = asyncio.Event()

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: bytes) -> None:
        writer.write(accepted)
        await left.wait()

    async def body(connection: Connection, told: asyncio.Queue[Any]) -> None:
        await connection.close()
        left.set()
        assert "This end closed" in (await told.get()).message

    talk(peer, body)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that nobody else trusts."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    pem = tmp_path_factory.mktemp("certificate") / "both.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*command.split(), "-keyout", pem, "-out", f"{pem}.crt"], check=True, capture_output=True)
    pem.write_bytes(pem.read_bytes() + Path(f"{pem}.crt").read_bytes())
    return pem


async def _connect_for(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A proxy that knows CONNECT alone."""

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            target.write(data)
        target.close()

    host, port = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode().split(":")
    further_reader, further_writer = await asyncio.open_connection(host, int(port))
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    await asyncio.gather(pump(reader, further_writer), pump(further_reader, writer))


@pytest.mark.parametrize("use_proxy", [False, True])
def test_frames_travel_in_tls_and_through_a_proxy(
    use_proxy: bool, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def mirror(socket: ServerConnection) -> None:
        await socket.send("before anything was asked")
        async for message in socket:
            await socket.send(message)

    async def main() -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        proxy = await asyncio.start_server(_connect_for, "127.0.0.1", 0)
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        async with proxy, serve(mirror, "127.0.0.1", 0, ssl=tls, max_size=None) as server:
            url = f"wss://127.0.0.1:{server.sockets[0].getsockname()[1]}/ws"
            hearing = Hearing()
            options = ConnectionOptions(ca_file=str(certificate), use_proxy=use_proxy)
            connection = await open_websocket(url, options, hearing)
            assert await hearing.told.get() == "before anything was asked"
            assert not cast(WebSocketConnection, connection).can_be_lent
            for message in ("short", "é" * 100_000, bytes(1_000_000)):
                connection.send(message)
                assert await hearing.told.get() == message
            await connection.close()
            assert "This end closed" in (await hearing.told.get()).message

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_every_frame_has_a_mask_of_its_own_and_a_forked_child_draws_others() -> None:
    keys = [websocket_connection._next_key() for _ in range(3000)]
    assert len(set(keys)) > 2990
    assert {len(key) for key in keys} == {4}
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, websocket_connection._next_key() + websocket_connection._next_key())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() != websocket_connection._next_key() + websocket_connection._next_key()
