"""The WebSocket ``/mcp``: one JSON-RPC call a frame, one session a connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.support.http import http_client
from tests.support.servers import RunningServer, running_server
from tests.support.sockets import FrameSocket, frame_socket

COUNTER = "tests.support.apps.tools:counter_app"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(COUNTER) as server:
        yield server


@pytest.fixture
def socket(server: RunningServer) -> Iterator[FrameSocket]:
    with frame_socket(address(server)) as socket:
        yield socket


def address(server: RunningServer) -> str:
    return server.base_url.replace("http://", "ws://") + "/mcp"


def call(method: str, request_id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": request_id}


def test_a_connection_has_a_session_of_its_own(server: RunningServer, socket: FrameSocket) -> None:
    with frame_socket(address(server)) as other:
        values = [each.ask(call("tools/call", name="count"))["result"]["data"] for each in (socket, other, socket)]
    assert values == [1, 1, 2]


def test_the_sessions_id_can_be_asked_for_and_used_elsewhere(server: RunningServer, socket: FrameSocket) -> None:
    own = socket.ask(call("openenv/session/create"))["result"]["session_id"]
    with http_client(server) as client:
        body = call("tools/call", name="count", session_id=own)
        assert client.post("/mcp", json=body).json()["result"]["data"] == 1
    assert socket.ask(call("tools/call", name="count", session_id=own))["result"]["data"] == 2


def test_the_own_session_ends_with_the_connection_only(socket: FrameSocket) -> None:
    own = socket.ask(call("openenv/session/create"))["result"]["session_id"]
    codes = [
        socket.ask(call("openenv/session/close", **params))["error"]["code"]
        for params in ({"session_id": own}, {"session_id": "other"}, {})
    ]
    assert codes == [-32600, -32602, -32602]


def test_calls_sent_ahead_are_answered_in_order_and_notifications_are_not(socket: FrameSocket) -> None:
    for number in range(50):
        socket.send(call("tools/call", number, name="count"))
        socket.send({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "count"}})
    answers = [socket.receive() for _ in range(50)]
    assert [(answer["id"], answer["result"]["data"]) for answer in answers] == [(n, 2 * n + 1) for n in range(50)]


@pytest.mark.parametrize(("frame", "code"), [("{bad", -32700), ("[1]", -32700), (b"\xff", -32700), ("{}", -32600)])
def test_a_frame_that_is_no_call_is_answered_and_the_session_goes_on(
    socket: FrameSocket, frame: str | bytes, code: int
) -> None:
    socket.ask(call("tools/call", name="count"))
    assert socket.ask(frame)["error"]["code"] == code
    assert socket.ask(call("tools/call", name="count"))["result"]["data"] == 2


def test_a_full_server_says_so_in_json_rpc() -> None:
    environ = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "0"}
    with running_server(COUNTER, env=environ) as server, frame_socket(address(server)) as first:
        first.ask(call("tools/list"))
        with frame_socket(address(server)) as second:
            told = second.receive()
            assert (told["id"], told["error"]["code"]) == (None, -32000)
            assert told["error"]["data"] == {"active_sessions": 1, "max_sessions": 1}
            assert second.close_code() == 1013


def test_a_page_of_another_site_is_refused(server: RunningServer) -> None:
    with (
        pytest.raises(InvalidStatus, match="403"),
        frame_socket(address(server), additional_headers={"Origin": "https://evil.example"}),
    ):
        pass
