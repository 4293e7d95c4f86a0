"""The official SDK behind ``/mcp``: what its clients are told of tools, results, and whose events are whose."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import mcp
import pytest
from mcp import MCPError

from tests.support.http import http_client
from tests.support.mcp_sessions import mcp_session
from tests.support.servers import RunningServer, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.tools:served_app") as server:
        yield server


def play(server: RunningServer, work: Callable[[mcp.Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with mcp_session(f"{server.base_url}/mcp") as client:
            return await work(client)

    return asyncio.run(run())


def test_titles_and_hints_of_a_servers_tools_reach_the_client(server: RunningServer) -> None:
    async def work(client: mcp.Client) -> Any:
        return (await client.list_tools()).tools

    price, fail = play(server, work)
    assert (price.title, price.annotations.read_only_hint) == ("Price list", True)
    assert (fail.title, fail.annotations) == (None, None)


def test_titles_and_hints_are_in_openenvs_subset_too(server: RunningServer) -> None:
    with http_client(server) as client:
        listed = client.post("/mcp", json={"jsonrpc": "2.0", "method": "tools/list", "id": 1}).json()["result"]["tools"]
    assert [(each["title"], each["annotations"]) for each in listed] == [
        ("Price list", {"readOnlyHint": True}),
        (None, None),
    ]


def test_a_result_keeps_text_and_structure_and_a_failure_is_a_result(server: RunningServer) -> None:
    async def work(client: mcp.Client) -> Any:
        return await client.call_tool("price", {"item": "tea"}), await client.call_tool("fail", {})

    found, failed = play(server, work)
    assert (found.content[0].text, found.structured_content, found.is_error) == ("3", {"result": 3}, False)
    assert failed.is_error
    assert "executing tool fail" in failed.content[0].text


def test_a_tool_that_there_is_not_is_a_wrong_call(server: RunningServer) -> None:
    async def work(client: mcp.Client) -> Any:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("unknown", {})
        return refused.value.error.code

    assert play(server, work) == -32602


def test_the_server_goes_by_the_environments_name(server: RunningServer) -> None:
    async def work(client: mcp.Client) -> str | None:
        return client.server_info.name if client.server_info else None

    assert play(server, work) == "shop"


def test_an_mcp_session_that_nobody_uses_ends_with_its_environment() -> None:
    settings = {"OPENENV_GYM_MCP_IDLE_TTL": "0.3", "MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "20"}
    start = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    accept = {"Accept": "application/json, text/event-stream"}
    with running_server("tests.support.apps.tools:served_app", env=settings) as server, http_client(server) as client:
        for _ in range(3):
            begun = client.post("/mcp", json=start, headers=accept)
            assert begun.status_code == 200
            assert begun.headers["mcp-session-id"]
