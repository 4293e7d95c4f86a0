"""The tools of one FastMCP server, behind openenv's environment and behind ours: the same lists and results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openenv_gym_protocol.tool_errors import ToolCallError

from openenv_gym import MCPToolClient
from tests.interop.conftest import available
from tests.support.comparing import Compared
from tests.support.sockets import frame_socket
from tests.support.stock import serving

pytestmark = pytest.mark.interop

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("add", {"a": 1, "b": 2}),
    ("add", {"a": 1}),
    ("add", {}),
    ("add", {"a": 1, "c": 2}),
    ("add", {"a": "x"}),
    ("later", {"message": "é"}),
    ("point", {}),
    ("nothing", {}),
    ("picture", {}),
    ("boom", {}),
    ("nope", {}),
]


@pytest.fixture(scope="module")
def urls() -> Iterator[list[str]]:
    names = ["fastmcp_tools:stock_app", "fastmcp_tools:our_app"]
    with serving(available(with_ours=True).python, names) as urls:
        yield [urls[name].replace("http://", "ws://") + "/ws" for name in names]


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"type": "mcp", "data": {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}}


def answers(url: str, frame: dict[str, Any]) -> Any:
    with frame_socket(url) as socket:
        return socket.ask(frame)["data"]


def without_texts(error: dict[str, Any] | None) -> Any:
    return error and {name: value for name, value in error.items() if name not in ("message", "data")}


def test_the_lists_are_equal(urls: list[str], compared: Compared) -> None:
    stock, ours = (answers(url, {"type": "step", "data": {"type": "list_tools"}}) for url in urls)
    assert ours == stock
    told, mine = (answers(url, rpc("tools/list"))["result"]["tools"] for url in urls)
    assert [(t["name"], t["description"], t["inputSchema"]) for t in mine] == [
        (t["name"], t["description"], t["inputSchema"]) for t in told
    ]
    assert mine[0].keys() == told[0].keys()
    compared.add(2)


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_a_step_returns_the_same(urls: list[str], name: str, arguments: dict[str, Any], compared: Compared) -> None:
    action = {"type": "call_tool", "tool_name": name, "arguments": arguments}
    stock, ours = (answers(url, {"type": "step", "data": action}) for url in urls)
    kinds = [without_texts(each["observation"].pop("error")) for each in (stock, ours)]
    assert kinds[0] == kinds[1]
    assert ours == stock
    compared.add(1)


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_a_json_rpc_call_returns_the_same(
    urls: list[str], name: str, arguments: dict[str, Any], compared: Compared
) -> None:
    stock, ours = (answers(url, rpc("tools/call", name=name, arguments=arguments)) for url in urls)
    codes = [without_texts(each.pop("error", None)) for each in (stock, ours)]
    assert codes[0] == codes[1]
    assert ours == stock
    compared.add(1)


@pytest.mark.parametrize("mode", ["simulation", "production"])
def test_our_tool_client_sees_the_same_at_both_servers(urls: list[str], mode: str, compared: Compared) -> None:
    seen = []
    for url in urls:
        env: Any
        with MCPToolClient(url, mode=mode).sync() as env:
            env.reset()
            told: list[Any] = [env.list_tools(), env.call_tool("add", a=1, b=2), env.call_tool("later", message="é")]
            told += [env.call("picture").content, env.call("point").structured_content, env.has_tool("nope")]
            for name in ("boom", "nope", "add"):
                with pytest.raises(ToolCallError) as caught:
                    env.call_tool(name)
                # What kind of failure it was, openenv tells in a step only.
                told.append(type(caught.value) if mode == "simulation" else name)
            seen.append(told)
    assert seen[1] == seen[0]
    compared.add(len(seen[0]))


def test_without_a_new_enough_sdk_the_server_serves_the_subset_and_says_what_is_missing(urls: list[str]) -> None:
    # openenv brings the first generation of the SDK, which this project does not serve MCP by.
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    url = urls[1].replace("ws://", "http://").removesuffix("/ws") + "/mcp"
    headers = {"Accept": "application/json, text/event-stream"}
    for _ in range(2):
        reply = httpx.post(url, json=call, headers=headers, trust_env=False, timeout=30)
        assert (reply.status_code, reply.json()["error"]["code"]) == (200, -32601)
    assert httpx.get(url, headers=headers, trust_env=False, timeout=30).status_code == 405
