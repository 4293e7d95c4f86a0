"""OpenEnv's JSON-RPC subset over HTTP: answers as openenv's clients read them, sessions, fences."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from tests.support.http import http_client
from tests.support.servers import RunningServer, running_server
from tests.support.sockets import frame_socket

COUNTER = "tests.support.apps.tools:counter_app"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(COUNTER) as server:
        yield server


@pytest.fixture
def client(server: RunningServer) -> Iterator[httpx.Client]:
    with http_client(server) as client:
        yield client


def rpc(client: httpx.Client, method: str, **params: Any) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "method": method, "params": params, "id": 7}
    reply = client.post("/mcp", json=call)
    assert reply.status_code == 200
    body: dict[str, Any] = reply.json()
    assert (body["jsonrpc"], body["id"]) == ("2.0", 7)
    return body


def result(client: httpx.Client, method: str, **params: Any) -> Any:
    return rpc(client, method, **params)["result"]


def error(client: httpx.Client, method: str, **params: Any) -> tuple[int, str]:
    told = rpc(client, method, **params)["error"]
    assert told.keys() == {"code", "message", "data"}
    return told["code"], told["message"]


@pytest.fixture
def session_id(client: httpx.Client) -> Iterator[str]:
    created = result(client, "openenv/session/create")["session_id"]
    yield created
    rpc(client, "openenv/session/close", session_id=created)


def attached(server: RunningServer, session_id: str) -> Any:
    return frame_socket(f"{server.ws_url}?session_id={session_id}")


def test_every_tool_is_listed_with_a_text_as_its_description(client: httpx.Client) -> None:
    tools = {tool["name"]: tool for tool in result(client, "tools/list")["tools"]}
    assert tools["count"]["description"] == "Counts."
    assert tools["fail"]["description"] == ""
    assert tools["count"]["inputSchema"]["properties"]["by"]["description"] == "How far."


def test_a_call_without_a_session_has_an_environment_of_its_own(client: httpx.Client) -> None:
    for _ in range(2):
        assert result(client, "tools/call", name="count", arguments={})["data"] == 1


def test_a_session_keeps_its_environment_between_calls(client: httpx.Client, session_id: str) -> None:
    values = [result(client, "tools/call", name="count", session_id=session_id)["data"] for _ in range(3)]
    assert values == [1, 2, 3]


def test_calls_of_one_session_are_done_one_after_another(client: httpx.Client, session_id: str) -> None:
    with ThreadPoolExecutor(10) as pool:
        calls = [
            pool.submit(result, client, "tools/call", name="read_then_write", session_id=session_id) for _ in range(10)
        ]
        assert sorted(call.result()["data"]["value"] for call in calls) == list(range(1, 11))


def test_the_attached_trainer_sees_the_steps_and_rewards_of_the_agent(
    server: RunningServer, client: httpx.Client, session_id: str
) -> None:
    with attached(server, session_id) as trainer:
        trainer.reset(episode_id="e")
        reply = rpc(client, "tools/call", name="count", arguments={"by": 2}, session_id=session_id)
        assert "reward" not in str(reply)
        assert trainer.ask({"type": "state"})["data"] == {
            "episode_id": "e",
            "step_count": 1,
            "last_reward": 0.5,
            "episode_return": 0.5,
            "done": False,
        }
        ended = trainer.step(type="call_tool", tool_name="count", arguments={})
        assert (ended["observation"]["result"]["data"], ended["reward"], ended["done"]) == (3, 1.0, True)
        state = trainer.ask({"type": "state"})["data"]
        assert (state["step_count"], state["episode_return"], state["done"]) == (2, 1.5, True)


def test_a_session_outlives_the_sockets_that_were_attached_to_it(
    server: RunningServer, client: httpx.Client, session_id: str
) -> None:
    for number in range(3):
        with attached(server, session_id) as trainer:
            assert trainer.ask({"type": "state"})["data"]["step_count"] == number
            trainer.step(type="call_tool", tool_name="count")
            trainer.send({"type": "close"})
            assert trainer.close_code() == 1000


def test_one_socket_is_attached_at_a_time(server: RunningServer, session_id: str) -> None:
    with attached(server, session_id) as first:
        first.reset()
        with attached(server, session_id) as second:
            refused = second.receive()["data"]
            assert (refused["code"], "already has an attached WebSocket" in refused["message"]) == (
                "SESSION_ERROR",
                True,
            )
            assert second.close_code() == 1000
        assert first.ask({"type": "state"})["type"] == "state"


def test_a_session_of_a_socket_is_lent_to_no_other(server: RunningServer) -> None:
    call = {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1}
    with frame_socket(server.ws_url) as owner:
        own = owner.ask({"type": "mcp", "data": call})["data"]["result"]["session_id"]
        with attached(server, own) as other:
            assert other.receive()["data"]["code"] == "SESSION_ERROR"


def test_an_agent_uses_the_session_of_the_trainers_socket_and_cannot_end_it(
    server: RunningServer, client: httpx.Client
) -> None:
    call = {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1}
    with frame_socket(server.ws_url) as trainer:
        own = trainer.ask({"type": "mcp", "data": call})["data"]["result"]["session_id"]
        assert result(client, "tools/call", name="count", session_id=own)["data"] == 1
        assert result(client, "openenv/session/close", session_id=own) == {
            "session_id": own,
            "closed": False,
            "closing": True,
        }
        assert trainer.ask({"type": "state"})["data"]["step_count"] == 1


def test_a_session_that_is_to_end_ends_with_its_socket_and_not_before(
    server: RunningServer, client: httpx.Client
) -> None:
    created = result(client, "openenv/session/create")["session_id"]
    with attached(server, created) as trainer:
        trainer.reset()
        assert result(client, "openenv/session/close", session_id=created)["closing"] is True
        assert result(client, "tools/call", name="count", session_id=created)["data"] == 1
        trainer.send({"type": "close"})
        assert trainer.close_code() == 1000
    assert error(client, "tools/call", name="count", session_id=created)[0] == -32602


def test_closing_over_http_takes_no_session_from_its_socket(
    server: RunningServer, client: httpx.Client, session_id: str
) -> None:
    with attached(server, session_id) as trainer:
        trainer.reset()
        assert client.post("/close", headers={"X-OpenEnv-Session": session_id}).status_code == 204
        assert trainer.ask({"type": "state"})["type"] == "state"


def test_a_closed_session_is_gone(client: httpx.Client) -> None:
    created = result(client, "openenv/session/create")["session_id"]
    assert result(client, "openenv/session/close", session_id=created) == {"session_id": created, "closed": True}
    assert error(client, "openenv/session/close", session_id=created)[0] == -32602
    assert error(client, "tools/list", session_id=created)[0] == -32602


def test_pictures_arrive(client: httpx.Client) -> None:
    content = result(client, "tools/call", name="picture")["content"]
    assert [block["type"] for block in content] == ["text", "image"]
    assert (content[1]["data"], content[1]["mimeType"]) == ("iVBORw==", "image/png")


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("bogus", {}, -32601),
        ("initialize", {}, -32601),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": "count", "arguments": [1]}, -32602),
        ("tools/call", {"name": "nope"}, -32603),
        ("tools/call", {"name": "fail"}, -32603),
        ("tools/call", {"name": "count", "arguments": {"by": "x"}}, -32603),
        ("tools/call", {"name": "hang"}, -32603),
        ("tools/call", {"name": "count", "session_id": "nope"}, -32602),
        ("openenv/session/close", {}, -32602),
    ],
)
def test_what_fails_is_told_with_openenvs_codes(
    client: httpx.Client, method: str, params: dict[str, Any], code: int
) -> None:
    assert error(client, method, **params)[0] == code


@pytest.mark.parametrize("name", ["reset", "step", "state", "close"])
def test_the_trainers_controls_are_no_tools(client: httpx.Client, name: str) -> None:
    assert error(client, "tools/call", name=name) == (-32603, f"Unknown tool: {name!r}")


def test_why_a_tool_failed_is_told_as_data(client: httpx.Client) -> None:
    assert rpc(client, "tools/call", name="nope")["error"]["data"] == {"error_type": "tool_not_found"}


def test_a_notification_is_taken_and_not_answered(client: httpx.Client, session_id: str) -> None:
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "count", "session_id": session_id}}
    reply = client.post("/mcp", json=call)
    assert (reply.status_code, reply.content) == (202, b"")
    assert result(client, "tools/call", name="count", session_id=session_id)["data"] == 2


@pytest.mark.parametrize(("body", "code"), [(b"{bad", -32700), (b"[]", -32700), (b'{"jsonrpc":"2.0"}', -32600)])
def test_what_is_no_call_is_answered(client: httpx.Client, body: bytes, code: int) -> None:
    reply = client.post("/mcp", content=body, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (200, code)


def test_other_methods_are_refused(client: httpx.Client) -> None:
    assert [client.request(method, "/mcp").status_code for method in ("GET", "PUT", "DELETE")] == [405] * 3


def test_a_page_of_another_site_is_refused(server: RunningServer, client: httpx.Client) -> None:
    call = {"jsonrpc": "2.0", "method": "tools/list", "id": 1}
    own = f"http://{server.base_url.removeprefix('http://')}"
    for accept in ("application/json", "application/json, text/event-stream"):
        headers = {"Origin": "https://evil.example", "Accept": accept}
        assert client.post("/mcp", json=call, headers=headers).status_code == 403
    assert client.post("/mcp", json=call, headers={"Origin": own}).status_code == 200


def test_the_token_is_asked_for_on_both_protocols_and_on_the_socket() -> None:
    call = {"jsonrpc": "2.0", "method": "tools/list", "id": 1}
    with running_server(COUNTER, env={"OPENENV_GYM_TOKEN": "secret"}) as server, http_client(server) as client:
        for accept in ("application/json", "application/json, text/event-stream"):
            assert client.post("/mcp", json=call, headers={"Accept": accept}).status_code == 401
        assert client.get("/mcp").status_code == client.delete("/mcp").status_code == 401
        with pytest.raises(InvalidStatus), frame_socket(server.base_url.replace("http", "ws") + "/mcp"):
            pass
        assert "result" in client.post("/mcp", json=call, headers={"Authorization": "Bearer secret"}).json()


def test_a_body_that_is_too_large_is_refused() -> None:
    with (
        running_server(COUNTER, env={"OPENENV_GYM_MAX_FRAME_BYTES": "1000"}) as server,
        http_client(server) as client,
    ):
        for accept in ("application/json", "application/json, text/event-stream"):
            reply = client.post("/mcp", content=b"x" * 2000, headers={"Accept": accept})
            assert reply.status_code == 413


def test_a_full_server_says_how_full_it_is() -> None:
    # Not 0: a session's slot is free when its environment has been closed, a moment after the answer.
    environ = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "1"}
    with running_server(COUNTER, env=environ) as server, http_client(server) as client:
        created = result(client, "openenv/session/create")["session_id"]
        told = rpc(client, "openenv/session/create")["error"]
        assert (told["code"], told["data"]) == (-32000, {"active_sessions": 1, "max_sessions": 1})
        rpc(client, "openenv/session/close", session_id=created)
        assert "result" in rpc(client, "openenv/session/create")


@pytest.mark.parametrize("method", ["openenv/session/create", "initialize"])
def test_whoever_gives_up_waiting_for_a_session_leaves_none(method: str) -> None:
    client_info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"jsonrpc": "2.0", "method": method, "params": client_info, "id": 1}
    streams = {"Accept": "application/json, text/event-stream"}
    environ = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "30"}
    with running_server(COUNTER, env=environ) as server, http_client(server) as client:
        client.post("/mcp", json={**call, "method": "ping"}, headers=streams)  # MCP's SDK is loaded
        created = result(client, "openenv/session/create")["session_id"]
        with http_client(server) as impatient, pytest.raises(httpx.ReadTimeout):
            impatient.post("/mcp", json=call, headers=streams, timeout=1.0)
        rpc(client, "openenv/session/close", session_id=created)
        assert "result" in rpc(client, "openenv/session/create")


def test_a_session_that_nobody_uses_expires_and_one_with_a_socket_does_not() -> None:
    environ = {"MAX_CONCURRENT_ENVS": "2", "OPENENV_GYM_CAPACITY_WAIT": "30", "OPENENV_GYM_SESSION_IDLE_TTL": "3"}
    with running_server(COUNTER, env=environ) as server, http_client(server) as client:
        kept = result(client, "openenv/session/create")["session_id"]
        with attached(server, kept) as trainer:
            trainer.reset()
            left = result(client, "openenv/session/create")["session_id"]
            assert "result" in rpc(client, "openenv/session/create")  # it waits until the second has expired
            assert error(client, "tools/list", session_id=left)[0] == -32602
            assert trainer.ask({"type": "state"})["type"] == "state"


def test_production_keeps_the_tools_and_hides_the_controls() -> None:
    with (
        running_server(COUNTER, env={"OPENENV_MODE": "production"}) as server,
        http_client(server) as client,
    ):
        created = result(client, "openenv/session/create")["session_id"]
        assert result(client, "tools/call", name="only_production", session_id=created)["data"] == "p"
        assert error(client, "tools/call", name="only_simulation", session_id=created)[0] == -32603
        assert [client.post(path, json={}).status_code for path in ("/reset", "/step")] == [404, 404]
        assert client.get("/state").status_code == 404
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "count"}, "id": 1}
        for url in (server.ws_url, f"{server.ws_url}?session_id={created}"):
            with frame_socket(url) as socket:
                for frame in ({"type": "reset"}, {"type": "state"}):
                    assert socket.ask(frame)["data"]["code"] == "UNKNOWN_TYPE"
                assert socket.step(type="call_tool", tool_name="count")["code"] == "UNKNOWN_TYPE"
                assert socket.ask({"type": "mcp", "data": call})["data"]["result"]["data"] == 1


def test_frames_and_calls_of_one_session_do_not_overlap(
    server: RunningServer, client: httpx.Client, session_id: str
) -> None:
    with attached(server, session_id) as trainer:
        agent = threading.Thread(
            target=lambda: [
                result(client, "tools/call", name="read_then_write", session_id=session_id) for _ in range(5)
            ]
        )
        agent.start()
        for _ in range(5):
            trainer.step(type="call_tool", tool_name="read_then_write")
        agent.join(30)
        data = trainer.step(type="call_tool", tool_name="read_then_write")
        assert data["observation"]["result"]["data"] == {"value": 11}
