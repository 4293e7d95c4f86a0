from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from typing import Any

import pytest
from openenv_gym_protocol import errors
from websockets.asyncio.server import ServerConnection
from websockets.typing import Subprotocol

from openenv_gym.transports.address import websocket_url
from openenv_gym.transports.base import Connection, ConnectionOptions
from openenv_gym.transports.websocket import open_websocket
from tests.support.scripted_server import PATIENCE, ScriptedServer, Session, scripted_server


class Recorder:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str | bytes | errors.OpenEnvGymError] = []
        self._changed = asyncio.Event()

    def frame_received(self, frame: str | bytes) -> None:
        self.told.append(frame)
        self._changed.set()

    def connection_lost(self, error: errors.OpenEnvGymError) -> None:
        self.told.append(error)
        self._changed.set()

    async def wait_for(self, count: int) -> list[Any]:
        async with asyncio.timeout(PATIENCE):
            while len(self.told) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.told


Talk = Callable[[Connection, Recorder], Awaitable[None]]


def talk(server: ScriptedServer, body: Talk, **options: Any) -> None:
    async def main() -> None:
        recorder = Recorder()
        connection = await open_websocket(websocket_url(server.base_url), ConnectionOptions(**options), recorder)
        try:
            await body(connection, recorder)
        finally:
            await connection.close()

    asyncio.run(main())


def end_of(server: ScriptedServer, **options: Any) -> errors.OpenEnvGymError:
    """What the listener is told last when the server does as its script says after one message."""
    told: list[Any] = []

    async def body(connection: Connection, recorder: Recorder) -> None:
        connection.send('{"type":"state"}')
        while not (recorder.told and isinstance(recorder.told[-1], errors.OpenEnvGymError)):
            await recorder.wait_for(len(recorder.told) + 1)
        told.extend(recorder.told)

    talk(server, body, **options)
    assert isinstance(told[-1], errors.OpenEnvGymError)
    return told[-1]


def opening_failure(url: str, **options: Any) -> errors.OpenEnvGymError:
    async def main() -> None:
        await open_websocket(url, ConnectionOptions(**options), Recorder())

    with pytest.raises(errors.OpenEnvGymError) as caught:
        asyncio.run(main())
    return caught.value


def test_a_frame_comes_back_whole() -> None:
    async def body(connection: Connection, recorder: Recorder) -> None:
        connection.send('{"type":"step","data":"ü"}')
        (frame,) = await recorder.wait_for(1)
        assert "\\u00fc" in frame

    with scripted_server() as server:
        talk(server, body)


def test_fragments_arrive_as_one_frame() -> None:
    async def script(session: Session) -> None:
        await session.socket.send(["one ", "f", "", "räme"])
        await session.socket.send([b"a", b"b"])
        await session.socket.send("whole")
        await session.socket.wait_closed()

    async def body(connection: Connection, recorder: Recorder) -> None:
        assert await recorder.wait_for(3) == ["one främe", b"ab", "whole"]

    with scripted_server(script) as server:
        talk(server, body)


def test_a_frame_may_come_before_the_connector_returns_and_is_not_lost() -> None:
    async def script(session: Session) -> None:
        await session.socket.send("refused")

    async def body(connection: Connection, recorder: Recorder) -> None:
        told = await recorder.wait_for(2)
        assert told[0] == "refused"
        assert isinstance(told[1], errors.ConnectionLost)
        assert told[1].close_code == 1000
        with pytest.raises(errors.ConnectionLost):
            connection.send("late")

    with scripted_server(script) as server:
        talk(server, body)


def test_what_the_server_said_is_told_before_its_close() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.socket.send("full")
        await session.socket.close(1013, "try later")

    told: list[Any] = []

    async def body(connection: Connection, recorder: Recorder) -> None:
        connection.send("{}")
        told.extend(await recorder.wait_for(2))

    with scripted_server(script) as server:
        talk(server, body)
    assert told[0] == "full"
    assert isinstance(told[1], errors.CapacityReached)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (1000, errors.ConnectionLost),
        (1009, errors.FrameTooLarge),
        (1011, errors.ConnectionLost),
        (1012, errors.ConnectionLost),
        (1013, errors.CapacityReached),
    ],
)
def test_a_close_code_has_its_error(code: int, expected: type[errors.OpenEnvGymError]) -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.socket.close(code, "because")

    with scripted_server(script) as server:
        error = end_of(server)
    assert type(error) is expected
    assert "because" in error.message
    if isinstance(error, errors.ConnectionLost):
        assert error.close_code == code


def test_a_server_that_dies_is_noticed_at_once() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        session.die()

    with scripted_server(script) as server:
        error = end_of(server)
    assert type(error) is errors.ConnectionLost
    assert error.close_code is None


def test_a_close_is_told_although_the_server_keeps_its_socket_open() -> None:
    """The end is told on the close frame, not when the peer's socket goes."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        thread = threading.Thread(target=_close_and_linger, args=(listening, done := threading.Event()))
        thread.start()
        port = listening.getsockname()[1]

        async def main() -> None:
            recorder = Recorder()
            connection = await open_websocket(f"ws://127.0.0.1:{port}/ws", ConnectionOptions(), recorder)
            told = await recorder.wait_for(1)
            assert isinstance(told[0], errors.ConnectionLost)
            connection.abort()

        try:
            asyncio.run(main())
        finally:
            done.set()
            thread.join(PATIENCE)


def _close_and_linger(listening: socket.socket, done: threading.Event) -> None:
    from websockets.http11 import Request
    from websockets.server import ServerProtocol

    peer, _ = listening.accept()
    protocol = ServerProtocol()
    with peer:
        while not (events := protocol.events_received()):
            protocol.receive_data(peer.recv(65536))
        request = events[0]
        assert isinstance(request, Request)
        protocol.send_response(protocol.accept(request))
        protocol.send_close(1000)
        peer.sendall(b"".join(protocol.data_to_send()))
        done.wait(PATIENCE)


def test_a_frame_above_the_limit_ends_the_connection_by_name() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.socket.send("x" * 5000)
        await session.socket.wait_closed()

    with scripted_server(script) as server:
        error = end_of(server, max_frame_bytes=1000)
    assert type(error) is errors.FrameTooLarge
    assert "1000" in error.message


def test_fragments_above_the_limit_together_end_the_connection_too() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.socket.send(["x" * 600, "x" * 600])
        await session.socket.wait_closed()

    with scripted_server(script) as server:
        assert type(end_of(server, max_frame_bytes=1000)) is errors.FrameTooLarge


def test_text_that_is_not_utf8_breaks_the_protocol() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.socket.send(b"\xff\xfe", text=True)
        await session.socket.wait_closed()

    with scripted_server(script) as server:
        assert type(end_of(server)) is errors.ProtocolFailure


def test_a_server_that_answers_no_ping_is_lost() -> None:
    async def script(session: Session) -> None:
        session.socket.transport.pause_reading()
        await session.socket.wait_closed()

    async def body(connection: Connection, recorder: Recorder) -> None:
        told = await recorder.wait_for(1)
        assert type(told[0]) is errors.ConnectionLost
        assert "ping" in told[0].message

    with scripted_server(script) as server:
        talk(server, body, ping_interval=0.05, ping_timeout=0.05)


def test_nothing_listens_there() -> None:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        error = opening_failure(f"ws://127.0.0.1:{unused.getsockname()[1]}/ws")
    assert type(error) is errors.ConnectError
    assert "base_url" in error.message


def test_a_name_that_nobody_has() -> None:
    assert type(opening_failure("ws://no-such-host.invalid/ws")) is errors.ConnectError


def test_a_server_that_never_answers_the_handshake() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        error = opening_failure(f"ws://127.0.0.1:{silent.getsockname()[1]}/ws", connect_timeout=0.2)
    assert type(error) is errors.ConnectTimeout
    assert "0.2 s" in error.message


def test_a_server_that_hangs_up_during_the_handshake() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as rude:
        thread = threading.Thread(target=lambda: rude.accept()[0].close())
        thread.start()
        error = opening_failure(f"ws://127.0.0.1:{rude.getsockname()[1]}/ws")
        thread.join(PATIENCE)
    assert type(error) is errors.ConnectError


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, errors.Unauthorized),
        (403, errors.Unauthorized),
        (404, errors.ConnectError),
        (200, errors.ConnectError),
        (503, errors.ConnectError),
    ],
)
def test_a_refused_handshake_has_its_error(status: int, expected: type[errors.OpenEnvGymError]) -> None:
    with scripted_server(http={"/ws": (status, {})}) as server:
        error = opening_failure(websocket_url(server.base_url))
    assert type(error) is expected
    assert f"{status}" in error.message


def test_no_redirect_is_followed_so_that_the_token_stays_with_its_server() -> None:
    with scripted_server() as other, scripted_server(http={"/ws": (302, {"Location": other.base_url})}) as server:
        error = opening_failure(websocket_url(server.base_url), token="secret")
        assert other.requests == []
    assert type(error) is errors.ConnectError
    assert other.base_url in error.message


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, {"Authorization": "Bearer secret"}),
        ({"authorization": "Bearer hub"}, {"Authorization": "Bearer hub", "X-OpenEnv-Token": "secret"}),
    ],
)
def test_the_token_travels_in_the_handshake(headers: dict[str, str], expected: dict[str, str]) -> None:
    async def body(connection: Connection, recorder: Recorder) -> None:
        assert connection.is_open

    with scripted_server() as server:
        talk(server, body, token="secret", headers=headers)
        sent = server.requests[0].headers
    assert {name: sent[name] for name in expected} == expected


def test_no_error_shows_the_token_or_a_secret_in_the_address() -> None:
    error = opening_failure("ws://user:hidden@127.0.0.1:1/ws?key=hidden", token="hidden")
    assert "hidden" not in error.message


def test_compression_is_not_asked_for() -> None:
    async def body(connection: Connection, recorder: Recorder) -> None: ...

    with scripted_server() as server:
        talk(server, body)
        assert "Sec-WebSocket-Extensions" not in server.requests[0].headers


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "ws_proxy"])
def test_loopback_never_goes_through_a_proxy(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:1")

    async def body(connection: Connection, recorder: Recorder) -> None:
        assert connection.is_open

    with scripted_server() as server:
        talk(server, body)


def test_a_proxy_can_be_asked_for_and_its_failure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ws_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with scripted_server() as server:
        error = opening_failure(websocket_url(server.base_url), use_proxy=True)
        assert server.requests == []
    assert type(error) is errors.ConnectError


def test_a_file_of_certificates_that_is_none_is_refused() -> None:
    error = opening_failure("wss://127.0.0.1:1/ws", ca_file=os.devnull)
    assert type(error) is errors.ConfigurationError


def test_a_cancelled_opening_leaves_no_socket() -> None:
    async def main(port: int) -> None:
        opening = asyncio.ensure_future(
            open_websocket(f"ws://127.0.0.1:{port}/ws", ConnectionOptions(), Recorder()),
        )
        while not silent_accepted.is_set():
            await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    silent_accepted = threading.Event()
    ended = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:

        def accept() -> None:
            peer, _ = silent.accept()
            with peer:
                peer.recv(65536)
                silent_accepted.set()
                try:
                    while peer.recv(65536):
                        pass
                except ConnectionResetError:
                    pass  # an abort looks like this
            ended.set()

        thread = threading.Thread(target=accept)
        thread.start()
        asyncio.run(main(silent.getsockname()[1]))
        assert ended.wait(PATIENCE)
        thread.join(PATIENCE)
    gc.collect()  # a socket left open would warn here


def test_closing_twice_and_aborting_after_it_are_harmless() -> None:
    async def body(connection: Connection, recorder: Recorder) -> None:
        await connection.close()
        await connection.close()
        connection.abort()
        assert not connection.is_open
        assert len(recorder.told) == 1

    with scripted_server() as server:
        talk(server, body)


def test_an_aborted_connection_tells_its_listener_once() -> None:
    async def body(connection: Connection, recorder: Recorder) -> None:
        connection.abort()
        (error,) = await recorder.wait_for(1)
        assert isinstance(error, errors.ConnectionLost)
        assert "This end" in error.message

    with scripted_server() as server:
        talk(server, body)


def test_a_debug_log_has_no_secret_of_the_handshake(caplog: pytest.LogCaptureFixture) -> None:
    async def greet(session: Session) -> None:
        await session.echo()

    async def main(base_url: str) -> None:
        url = websocket_url(f"{base_url}/?key=secret-1".replace("http://", "http://me:secret-2@"))
        options = ConnectionOptions(token="secret-3", headers={"Authorization": "secret-4", "X-Other": "secret-5"})
        connection = await open_websocket(url, options, Recorder())
        await connection.close()

    with caplog.at_level(logging.DEBUG), scripted_server(greet) as server:
        caplog.handler.addFilter(lambda record: record.name != "websockets.server")
        asyncio.run(main(server.base_url))
    assert "> X-OpenEnv-Token: (not logged)" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("offered", "known", "selected"), [(("b", "a"), ["a"], "a"), (("a",), ["c"], None), ((), ["a"], None)]
)
def test_a_subprotocol_is_offered_and_may_be_selected(
    offered: tuple[str, ...], known: list[Any], selected: str | None
) -> None:
    async def body(connection: Connection, recorder: Recorder) -> None:
        assert connection.subprotocol == selected
        connection.send('{"type":"state"}')
        assert isinstance((await recorder.wait_for(1))[0], str), "whatever was selected, the connection works"

    def select(_: ServerConnection, offers: Sequence[Subprotocol]) -> Subprotocol | None:
        return next((each for each in offers if each in known), None)

    with scripted_server(subprotocols=known, select_subprotocol=select) as server:
        talk(server, body, subprotocols=offered)


def test_bytes_travel_as_binary_frames() -> None:
    async def mirror(session: Session) -> None:
        await session.socket.send(await session.socket.recv())

    async def body(connection: Connection, recorder: Recorder) -> None:
        connection.send(b"\x00\xff")
        assert (await recorder.wait_for(1))[0] == b"\x00\xff"

    with scripted_server(mirror) as server:
        talk(server, body)
