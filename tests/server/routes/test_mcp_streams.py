"""MCP's own clients: sessions of their own or named ones, both protocol generations, the end of a session."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import mcp
import pytest
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.support.http import http_client
from tests.support.mcp_sessions import mcp_session
from tests.support.servers import RunningServer, running_server
from tests.support.sockets import FrameSocket, frame_socket

COUNTER = "tests.support.apps.tools:counter_app"
CREATE = {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1}
MODERN = "2026-07-28"
PATIENCE = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(COUNTER) as server:
        yield server
        assert "fault of the server" not in server.log()
        assert "Exception in ASGI application" not in server.log()


def play(url: str, work: Callable[[mcp.Client], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        async with mcp_session(url, **options) as client:
            return await work(client)

    return asyncio.run(run())


async def count(client: mcp.Client, by: int = 1) -> int:
    result = await client.call_tool("count", {"by": by})
    assert result.structured_content is not None
    value: int = result.structured_content["result"]
    return value


def state(trainer: FrameSocket) -> dict[str, Any]:
    data: dict[str, Any] = trainer.ask({"type": "state"})["data"]
    return data


def named(server: RunningServer, trainer: FrameSocket) -> str:
    own = trainer.ask({"type": "mcp", "data": CREATE})["data"]["result"]["session_id"]
    return f"{server.base_url}/mcp?session_id={own}"


def until(condition: Callable[[], bool]) -> None:
    """Waits for what a server does by itself, with a bound."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_an_mcp_session_has_an_environment_of_its_own(server: RunningServer) -> None:
    async def two(client: mcp.Client) -> list[int]:
        async with mcp_session(f"{server.base_url}/mcp") as other:
            return [await count(client), await count(other), await count(client)]

    assert play(f"{server.base_url}/mcp", two) == [1, 1, 2]


def test_tools_are_listed_with_texts_as_descriptions(server: RunningServer) -> None:
    async def listed(client: mcp.Client) -> dict[str, str | None]:
        return {tool.name: tool.description for tool in (await client.list_tools()).tools}

    told = play(f"{server.base_url}/mcp", listed)
    assert (told["count"], told["fail"]) == ("Counts.", "")
    assert not {"reset", "step", "state", "close"} & told.keys()


def test_results_keep_pictures_and_failures_are_results(server: RunningServer) -> None:
    async def all_of_them(client: mcp.Client) -> Any:
        return [await client.call_tool(name, {}) for name in ("picture", "later", "fail", "hang")]

    picture, later, failed, hung = play(f"{server.base_url}/mcp", all_of_them)
    assert [block.type for block in picture.content] == ["text", "image"]
    assert later.structured_content == {"result": "later"}
    assert (failed.is_error, failed.content[0].text) == (True, "Error calling tool 'fail': tool exploded")
    assert (hung.is_error, hung.content[0].text) == (True, "Tool 'hang' timed out after 0.05 seconds")


@pytest.mark.parametrize("execution", ["async", "inline"])
def test_tools_run_in_every_execution(execution: str) -> None:
    async def some(client: mcp.Client) -> Any:
        return [await client.call_tool(name, {}) for name in ("count", "fail", "later", "hang", "count")]

    with running_server(f"tests.support.apps.tools:{execution}_counter_app") as server:
        first, failed, later, hung, second = play(f"{server.base_url}/mcp", some)
        assert "never awaited" not in server.log()
    assert (first.structured_content, second.structured_content) == ({"result": 1}, {"result": 2})
    assert failed.content[0].text == "Error calling tool 'fail': tool exploded"
    if execution == "async":
        assert later.structured_content == {"result": "later"}
        assert hung.content[0].text == "Tool 'hang' timed out after 0.05 seconds"
    else:
        assert (later.is_error, "not inline" in later.content[0].text, hung.is_error) == (True, True, True)


@pytest.mark.parametrize("name", ["nope", "reset"])
def test_an_unknown_tool_is_a_wrong_call(server: RunningServer, name: str) -> None:
    async def code(client: mcp.Client) -> int:
        with pytest.raises(MCPError) as caught:
            await client.call_tool(name, {})
        return caught.value.code

    assert play(f"{server.base_url}/mcp", code) == -32602


@pytest.mark.parametrize("mode", ["auto", "legacy", MODERN])
def test_an_agent_plays_in_the_session_that_its_address_names(server: RunningServer, mode: str) -> None:
    async def three(client: mcp.Client) -> tuple[str, list[int]]:
        await client.list_tools()
        return client.protocol_version, [await count(client) for _ in range(3)]

    with frame_socket(server.ws_url) as trainer:
        trainer.reset()
        version, values = play(named(server, trainer), three, mode=mode)
        assert version == ("2025-11-25" if mode == "legacy" else MODERN)
        assert values == [1, 2, 3]
        told = state(trainer)
        assert (told["step_count"], told["episode_return"], told["last_reward"], told["done"]) == (3, 2.0, 1.0, True)
        trainer.reset()
        assert state(trainer)["step_count"] == 0


def test_the_trainer_attaches_to_the_mcp_session_by_its_id(server: RunningServer) -> None:
    async def play_and_look() -> dict[str, Any]:
        ids: list[str] = []

        async def note(response: Any) -> None:
            ids.extend(filter(None, [response.headers.get("mcp-session-id")]))

        async with noting_client(note) as http:
            transport = streamable_http_client(f"{server.base_url}/mcp", http_client=http)
            async with mcp_session(transport) as client:
                await count(client, by=2)
                return await asyncio.to_thread(look, ids[0])

    def look(mcp_id: str) -> dict[str, Any]:
        with frame_socket(f"{server.ws_url}?session_id={mcp_id}") as trainer:
            trainer.step(type="call_tool", tool_name="count")
            return state(trainer)

    told = asyncio.run(play_and_look())
    assert (told["step_count"], told["episode_return"], told["done"]) == (2, 1.5, True)


def noting_client(note: Callable[[Any], Awaitable[None]]) -> Any:
    import httpx2  # the SDK's own; it has no types here

    return httpx2.AsyncClient(event_hooks={"response": [note]}, timeout=PATIENCE, trust_env=False)


def test_without_a_session_the_newest_protocol_is_told_the_versions_that_have_some(server: RunningServer) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN}
    with http_client(server) as client:
        reply = client.post("/mcp", json=call, headers=headers)
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == -32022
    assert "2025-11-25" in reply.json()["error"]["data"]["supported"]
    assert MODERN not in reply.json()["error"]["data"]["supported"]


def test_an_unknown_session_is_not_found(server: RunningServer) -> None:
    headers = {"Accept": "application/json, text/event-stream"}
    call = initialize()
    with http_client(server) as client:
        assert client.post("/mcp?session_id=nope", json=call, headers=headers).status_code == 404
        wrong = {**headers, "mcp-session-id": "nope"}
        assert client.post("/mcp", json=call, headers=wrong).status_code == 404


def initialize() -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def begin(client: httpx.Client) -> dict[str, str]:
    headers = {"Accept": "application/json, text/event-stream"}
    reply = client.post("/mcp", json=initialize(), headers=headers)
    assert reply.status_code == 200
    return {**headers, "mcp-session-id": reply.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}


def test_the_end_of_the_mcp_session_frees_the_slot() -> None:
    environ = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "0"}
    with running_server(COUNTER, env=environ) as server, http_client(server) as client:
        headers = begin(client)
        full = client.post("/mcp", json=initialize(), headers={"Accept": "application/json, text/event-stream"})
        assert (full.status_code, full.json()["error"]["code"]) == (503, -32000)
        assert client.delete("/mcp", headers=headers).status_code == 200
        until(lambda: client.get("/ready").json()["active_sessions"] == 0)
        assert client.post("/mcp", json=initialize(), headers=headers).status_code == 404
        begin(client)


def test_the_end_of_the_mcp_session_waits_for_the_attached_trainer(server: RunningServer) -> None:
    with http_client(server) as client:
        headers = begin(client)
        mcp_id = headers["mcp-session-id"]
        with frame_socket(f"{server.ws_url}?session_id={mcp_id}") as trainer:
            trainer.reset(episode_id="mine")
            assert client.delete("/mcp", headers=headers).status_code == 200
            assert state(trainer)["episode_id"] == "mine"
        with frame_socket(f"{server.ws_url}?session_id={mcp_id}") as late:
            assert late.receive()["data"]["code"] == "SESSION_ERROR"


def test_an_initialize_that_the_sdk_refuses_leaves_no_session() -> None:
    environ = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "0"}
    with running_server(COUNTER, env=environ) as server, http_client(server) as client:
        headers = {"Accept": "text/event-stream"}  # MCP wants both kinds accepted
        assert client.post("/mcp", json=initialize(), headers=headers).status_code == 406
        until(lambda: client.get("/ready").json()["active_sessions"] == 0)


def test_a_listening_agent_keeps_its_session_and_a_silent_one_loses_it() -> None:
    environ = {"OPENENV_GYM_SESSION_IDLE_TTL": "3"}
    with running_server(COUNTER, env=environ) as server, http_client(server) as client:
        listening = begin(client)
        with client.stream("GET", "/mcp", headers=listening) as stream:
            assert stream.status_code == 200
            silent = begin(client)
            until(lambda: client.get("/ready").json()["active_sessions"] == 1)
            assert client.post("/mcp", json={**initialize(), "method": "ping"}, headers=silent).status_code == 404
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count"}}
            assert '"result":1' in client.post("/mcp", json=call, headers=listening).text.replace(" ", "")
        until(lambda: client.get("/ready").json()["active_sessions"] == 0)


def test_a_missed_answer_is_sent_again_to_its_owner_alone(server: RunningServer) -> None:
    with http_client(server) as client:
        one, other = begin(client), begin(client)
        newest = {**one, "mcp-protocol-version": "2025-11-25"}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count"}}
        ids = event_ids(client.post("/mcp", json=call, headers=newest).text)
        client.post("/mcp", json=call, headers={**other, "mcp-protocol-version": "2025-11-25"})
        assert len(ids) == 2  # the stream's beginning, and the answer
        with client.stream("GET", "/mcp", headers={**newest, "Last-Event-ID": ids[0]}) as again:
            lines = again.iter_lines()
            assert next(line for line in lines if line.startswith("id:")) == f"id: {ids[1]}"
        stolen = {**other, "mcp-protocol-version": "2025-11-25", "Last-Event-ID": ids[0]}
        with client.stream("GET", "/mcp", headers=stolen) as foreign:
            assert event_ids(foreign.read().decode()) == []


def event_ids(text: str) -> list[str]:
    return [line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: ")]


def test_a_server_with_a_listening_agent_ends_when_it_is_told_to() -> None:
    with running_server(COUNTER) as server, http_client(server) as client:
        headers = begin(client)
        stream = client.send(client.build_request("GET", "/mcp", headers=headers), stream=True)
        assert stream.status_code == 200
        os.kill(server.pid, signal.SIGTERM)
        until(lambda: "Finished server process" in server.log())
        stream.close()
        assert "Traceback" not in server.log()
