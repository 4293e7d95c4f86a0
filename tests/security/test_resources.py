"""Attacks on a server's memory, descriptors and time, each by its name."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import psutil
import pytest
from openenv_gym_protocol.errors import FailureClass
from openenv_gym_protocol.vector import frames
from websockets.exceptions import ConnectionClosed

from tests.support.http import http_client
from tests.support.servers import RunningServer, running_server
from tests.support.serving import serving
from tests.support.sockets import frame_socket
from tests.support.vector_client import vector_socket

MISBEHAVING = "tests.support.apps.misbehaving:app"
LIMIT = 1_000_000
SECONDS = 30.0
DEEP = 200_000


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    settings = {"OPENENV_GYM_MAX_FRAME_BYTES": str(LIMIT), "OPENENV_GYM_REQUEST_TIMEOUT": "2"}
    with serving(app=MISBEHAVING, env=settings) as server:
        yield server


def raw(server: RunningServer, sent: bytes) -> bytes:
    """What a server answers to bytes before it closes the connection."""
    address = urlsplit(server.base_url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=SECONDS) as connection:
        connection.sendall(sent)
        answer = b""
        try:
            while chunk := connection.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass
        return answer


def resident(server: RunningServer) -> int:
    return int(psutil.Process(server.pid).memory_info().rss)


def works(server: RunningServer) -> bool:
    with frame_socket(server.ws_url) as connection:
        connection.reset()
        return bool(connection.step(do="answer", text="well")["observation"]["text"] == "well")


def test_python_sdk_3336_a_body_that_is_announced_too_large_is_not_read(server: RunningServer) -> None:
    head = f"POST /step HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {LIMIT + 1}\r\n\r\n"
    assert raw(server, head.encode()).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("path", ["/reset", "/step", "/mcp"])
def test_python_sdk_3336_a_body_in_chunks_is_counted(server: RunningServer, path: str) -> None:
    with http_client(server) as client:
        assert client.post(path, content=(b" " * 100_000 for _ in range(11))).status_code == 413


@pytest.mark.parametrize("path", ["/ws", "/mcp"])
def test_an_oversized_frame_ends_its_own_connection_only(server: RunningServer, path: str) -> None:
    with frame_socket(server.ws_url) as other, frame_socket(server.ws_url.removesuffix("/ws") + path) as connection:
        other.reset()
        connection.send("x" * (LIMIT + 1))
        assert connection.close_code() == 1009
        assert other.step(do="answer")["done"] is False


@pytest.mark.parametrize("opener", ["[", '{"a":'])
@pytest.mark.parametrize(
    "place", ["{deep}", '{{"type": "step", "data": {deep}}}', '{{"type": "step", "data": [{deep}]}}']
)
def test_deeply_nested_json_is_refused_and_the_session_goes_on(server: RunningServer, opener: str, place: str) -> None:
    closer = "]" if opener == "[" else "}"
    text = place.format(deep=opener * (DEEP // len(opener)) + "0" + closer * (DEEP // len(opener)))
    with frame_socket(server.ws_url) as connection:
        connection.reset()
        assert connection.ask(text)["type"] == "error"
        assert connection.step(do="answer")["done"] is False
    with http_client(server) as client:
        assert client.post("/step", content=text).status_code == 422
        answer = client.post("/mcp", content=text)
        assert answer.status_code == 200
        assert "error" in answer.json()


HOSTILE = [
    '{"do": "answer", "number": 1e999}',
    '{"do": "answer", "number": NaN}',
    '{"do": "answer", "seconds": "Infinity"}',
    '{"do": "answer", "number": ' + "9" * 5000 + "}",
    '{"do": "answer", "number": -' + "9" * 5000 + "}",
    '{"do": "answer", "text": "\\u0000"}',
    '{"do": "answer", "text": "\\ud800"}',
    '{"do": "answer", "text": "\\ud800\\ud800"}',
    '{"do": "raise", "do": "answer"}',
    '{"do": "answer", "__class__": "os.system", "__proto__": {"a": 1}}',
    '{"do": "\\u0000"}',
]


@pytest.mark.parametrize("data", HOSTILE)
def test_hostile_numbers_texts_and_keys_get_an_answer_that_is_json(server: RunningServer, data: str) -> None:
    with frame_socket(server.ws_url) as connection:
        connection.reset()
        assert connection.ask('{"type": "step", "data": ' + data + "}")["type"] in ("observation", "error")
        assert connection.step(do="answer")["done"] is False
    with http_client(server) as client:
        answer = client.post("/step", content='{"action": ' + data + "}")
        assert answer.status_code in (200, 422, 500)  # 500: without a session there was no reset
        json.loads(answer.content)


def test_a_compressed_bomb_finds_no_compression(server: RunningServer) -> None:
    with frame_socket(server.ws_url, compression="deflate") as connection:
        assert not connection.connection.protocol.extensions


def test_a_compressed_bomb_is_bounded_where_a_server_compresses() -> None:
    with running_server(MISBEHAVING) as server, frame_socket(server.ws_url, compression="deflate") as connection:
        assert connection.connection.protocol.extensions
        connection.reset()
        before = resident(server)
        with pytest.raises(ConnectionClosed) as closed:
            connection.ask({"type": "step", "data": {"text": "x" * 200_000_000}})
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
        assert resident(server) - before < 100_000_000
        assert works(server)


def test_slow_loris_a_head_that_does_not_come_to_its_end(server: RunningServer) -> None:
    assert raw(server, b"") == b""
    assert raw(server, b"POST /step HTTP/1.1\r\nHost: localhost\r\nX-Slow: ") == b""


def test_slow_loris_a_later_head_on_a_connection_that_lives(server: RunningServer) -> None:
    answer = raw(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\nX-Slow: ")
    assert answer.count(b"HTTP/1.1 200") == 1


def test_slow_loris_a_handshake_that_does_not_come_to_its_end(server: RunningServer) -> None:
    assert raw(server, b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n") == b""


def test_slow_loris_a_head_without_an_end(server: RunningServer) -> None:
    assert raw(server, b"GET /health HTTP/1.1\r\nX-Large: " + b"x" * 200_000).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("path", ["/reset", "/step", "/mcp"])
def test_slow_loris_a_body_that_does_not_come_to_its_end(path: str) -> None:
    with running_server(MISBEHAVING, env={"OPENENV_GYM_REQUEST_TIMEOUT": "2"}) as server:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
        assert raw(server, head.encode() + b"{").startswith(b"HTTP/1.1 408")


def test_the_time_limit_of_requests_is_none_of_answers_and_sockets(server: RunningServer) -> None:
    with frame_socket(server.ws_url) as connection, http_client(server) as client:
        connection.reset()
        assert connection.step(do="sleep", seconds=2.5)["observation"]["text"] == "slept"
        named = client.post("/reset", headers={"X-OpenEnv-Session": ""}).headers["x-openenv-session"]
        action = {"action": {"do": "sleep", "seconds": 2.5}}
        assert client.post("/step", json=action, headers={"X-OpenEnv-Session": named}).status_code == 200
        assert connection.step(do="answer")["done"] is False


def test_session_exhaustion_a_full_server_refuses_and_lives() -> None:
    # Not 0: a slot is free when the server has seen that its client left, a moment after the client did.
    settings = {"MAX_CONCURRENT_ENVS": "2", "OPENENV_GYM_CAPACITY_WAIT": "2"}
    with running_server(MISBEHAVING, env=settings) as server:
        with frame_socket(server.ws_url) as one, frame_socket(server.ws_url) as two:
            one.reset()
            two.reset()
            with frame_socket(server.ws_url) as third:
                assert third.receive()["data"]["code"] == "CAPACITY_REACHED"
                assert third.close_code() == 1013
        assert works(server)


def test_open_meteo_mcp_25_sessions_that_are_left_behind_end() -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_SESSION_IDLE_TTL": "0.2", "OPENENV_GYM_CAPACITY_WAIT": "20"}
    with running_server(MISBEHAVING, env=settings) as server, http_client(server) as client:
        for _ in range(3):
            assert client.post("/reset", headers={"X-OpenEnv-Session": ""}).status_code == 200
        create = {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1}
        for _ in range(2):
            assert "session_id" in client.post("/mcp", json=create).json()["result"]


@pytest.mark.parametrize("compression", [None, "deflate"])
def test_a_client_that_attached_and_is_killed_frees_its_slot_at_once(compression: str | None) -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "20"}
    with running_server(MISBEHAVING, env=settings) as server, http_client(server) as client:
        for _ in range(2):
            create = {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1}
            name = client.post("/mcp", json=create).json()["result"]["session_id"]
            with frame_socket(f"{server.ws_url}?session_id={name}", compression=compression) as attached:
                attached.reset()
                attached.connection.socket.shutdown(socket.SHUT_RDWR)  # as the kernel does for whoever is killed


def test_open_meteo_mcp_25_sessions_of_agents_are_left_behind_for_a_shorter_time() -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_MCP_IDLE_TTL": "0.2", "OPENENV_GYM_CAPACITY_WAIT": "20"}
    with running_server(MISBEHAVING, env=settings) as server, http_client(server) as client:
        create = {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1}
        for _ in range(3):
            assert "session_id" in client.post("/mcp", json=create).json()["result"]


def test_a_session_that_is_used_for_ever_ends_by_its_absolute_time_to_live() -> None:
    with running_server(MISBEHAVING, env={"OPENENV_GYM_SESSION_TTL": "0.5"}) as server, http_client(server) as client:
        opened = client.post("/reset", headers={"X-OpenEnv-Session": ""})
        named = {"X-OpenEnv-Session": opened.headers["x-openenv-session"]}
        while client.get("/state", headers=named).status_code == 200:
            pass  # as often as it can; the test's own time limit ends a session that does not
        assert client.get("/state", headers=named).status_code == 404


def test_a_step_that_never_returns_gives_its_slot_back() -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_STEP_TIMEOUT": "3", "OPENENV_GYM_CAPACITY_WAIT": "20"}
    with running_server(MISBEHAVING, env=settings) as server, frame_socket(server.ws_url) as connection:
        connection.reset()
        assert connection.ask({"type": "step", "data": {"do": "hang"}})["type"] == "error"
        assert works(server)
        with frame_socket(server.ws_url) as other:
            other.reset()
            other.step(do="release")


@pytest.fixture
def shared() -> Iterator[RunningServer]:
    settings = {"OPENENV_GYM_MAX_SESSIONS_PER_PEER": "2", "MAX_CONCURRENT_ENVS": "100"}
    with serving(app=MISBEHAVING, env=settings) as server:
        yield server


def test_session_exhaustion_one_peer_has_its_share_and_others_have_theirs(shared: RunningServer) -> None:
    with frame_socket(shared.ws_url) as one, frame_socket(shared.ws_url) as two:
        one.reset()
        two.reset()
        with frame_socket(shared.ws_url) as third:
            told = third.receive()["data"]
            assert (told["code"], "peer" in told["message"]) == ("CAPACITY_REACHED", True)
            assert third.close_code() == 1013
        with http_client(shared) as client:
            assert client.post("/reset", headers={"X-OpenEnv-Session": ""}).status_code == 503
            assert client.post("/reset").status_code == 200  # an environment for one call is no session
        with vector_socket(shared.ws_url) as lanes:
            assert lanes.refusal(frames.Open, lanes=1).failure == FailureClass.CAPACITY
        with frame_socket(shared.ws_url, source_address=("127.0.0.2", 0)) as other:
            assert other.reset()["done"] is False


def test_session_exhaustion_a_share_comes_back_with_its_sessions(shared: RunningServer) -> None:
    with vector_socket(shared.ws_url) as lanes:
        assert lanes.refusal(frames.Open, lanes=3).failure == FailureClass.CAPACITY
        first = lanes.open(2)
        lanes.ask(frames.Close, lanes=first)
        lanes.open(2)
    for _ in range(3):
        with frame_socket(shared.ws_url) as one:
            one.reset()
            one.send({"type": "close"})
            assert one.close_code() == 1000
