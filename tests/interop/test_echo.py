"""The echo project answers a stock client as openenv's echo environment does: frame by frame."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.comparing import Compared, unexpected
from tests.support.stock import REPOSITORY, StockEnvironment, play, serving
from tests.support.wire import record_frames, record_request

pytestmark = pytest.mark.interop


def call(tool_name: str, /, **arguments: Any) -> dict[str, Any]:
    """A step that calls a tool."""
    return {"type": "step", "data": {"type": "call_tool", "tool_name": tool_name, "arguments": arguments}}


RESET = {"type": "reset", "data": {"seed": 1, "episode_id": "e"}}
STATE = {"type": "state"}

FRAMES: dict[str, list[Any]] = {
    "reset": [RESET, STATE],
    "list of tools": [RESET, {"type": "step", "data": {"type": "list_tools"}}, STATE],
    "echo": [RESET, call("echo_message", message="Hello, World!"), STATE],
    "echo with length": [
        RESET,
        call("echo_with_length", message="Hello"),
        call("echo_with_length", message="é\U0001f600"),
    ],
    "empty message": [RESET, call("echo_message", message="")],
    "long message": [RESET, call("echo_message", message="x" * 10_000)],
    "before a reset": [call("echo_message", message="early")],
    "without a type": [RESET, {"type": "step", "data": {"tool_name": "echo_message", "arguments": {"message": "m"}}}],
    "unknown tool": [RESET, call("nope"), STATE],
    "missing argument": [RESET, call("echo_message")],
    "unknown argument": [RESET, call("echo_message", message="m", loud=True)],
    "argument of another type": [RESET, call("echo_message", message=5)],
    "no tool name": [RESET, {"type": "step", "data": {"type": "call_tool"}}, STATE],
    "unknown kind of action": [RESET, {"type": "step", "data": {"type": "dance"}}, STATE],
    "plain action": [RESET, {"type": "step", "data": {"message": "Hello"}}, STATE],
    "extra key in a list request": [RESET, {"type": "step", "data": {"type": "list_tools", "x": 1}}, STATE],
}


@pytest.fixture(scope="module")
def stock_echo(stock: StockEnvironment) -> Iterator[str]:
    """The base URL of openenv's echo."""
    with serving(stock.python, ["stock_echo:app"]) as urls:
        yield urls["stock_echo:app"]


@pytest.fixture(scope="module")
def our_echo() -> Iterator[str]:
    """The base URL of the echo project."""
    with serving(sys.executable, ["server.app:app"], cwd=REPOSITORY / "envs" / "echo") as urls:
        yield urls["server.app:app"]


@pytest.fixture(scope="module")
def moved_echo(our_servers: dict[str, str]) -> str:
    """The base URL of openenv's echo, unchanged, under this project's server."""
    return our_servers["echo_app"]


def with_loose_text(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers without the human text of a tool's error, which is no contract."""
    for answer in answers:
        error = answer.get("data", {}).get("observation", {}).get("error")
        if error:
            error["message"] = bool(error["message"])
    return answers


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("kind", ["our_echo", "moved_echo"])
def test_a_frame_is_answered_equally(
    kind: str, name: str, stock_echo: str, request: pytest.FixtureRequest, compared: Compared
) -> None:
    stock = with_loose_text(record_frames(stock_echo, FRAMES[name]))
    ours = with_loose_text(record_frames(request.getfixturevalue(kind), FRAMES[name]))
    assert unexpected(stock, ours) == []
    compared.add(len(stock))


def test_the_schemas_accept_the_same_actions(stock_echo: str, our_echo: str, compared: Compared) -> None:
    stock, ours = (record_request(url, "GET", "/schema")["body"] for url in (stock_echo, our_echo))
    for key in ("action", "observation", "reset_observation", "state"):
        assert stock[key]["properties"].keys() == ours[key]["properties"].keys()
        assert stock[key].get("required") == ours[key].get("required")
        assert stock[key]["additionalProperties"] == ours[key]["additionalProperties"]
        compared.add(1)


SCRIPT = """[["reset", {}], ["step", {"type": "list_tools"}], ["state", null],
["step", {"type": "call_tool", "tool_name": "echo_message", "arguments": {"message": "Hello"}}],
["step", {"type": "call_tool", "tool_name": "echo_with_length", "arguments": {"message": "Hello"}}]]"""


def test_openenvs_client_sees_the_same(
    stock: StockEnvironment, stock_echo: str, our_echo: str, compared: Compared
) -> None:
    expected, seen = (play(stock.python, "generic_client.py", "async", url, SCRIPT) for url in (stock_echo, our_echo))
    for line in (expected[2], seen[2]):
        line["returned"]["episode_id"] = type(line["returned"]["episode_id"]).__name__
    assert seen == expected
    assert len(seen) == 5
    compared.add(len(seen))
