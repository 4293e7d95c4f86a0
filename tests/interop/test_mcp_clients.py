"""Every kind of MCP client drives the same environment, and the trainer sees the same whichever it was."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.mcp_clients import CLIENTS, mcp_client
from tests.support.servers import RunningServer, running_server
from tests.support.sockets import FrameSocket, frame_socket
from tests.support.stock import StockEnvironment, play
from tests.support.venvs import VenvUnavailable

pytestmark = pytest.mark.interop

TOOLS = ["count", "read_then_write", "picture", "fail", "later", "hang", "only_simulation"]
CREATE = {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1}
SECONDS = 90.0


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.tools:counter_app") as server:
        yield server


def command(client: str) -> list[str]:
    try:
        return mcp_client(client)
    except VenvUnavailable as error:
        pytest.skip(str(error))


def run(client: str, url: str, *steps: int) -> dict[str, Any]:
    line = [*command(client), url, *map(str, steps)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def state(trainer: FrameSocket) -> dict[str, Any]:
    data: dict[str, Any] = trainer.ask({"type": "state"})["data"]
    return data


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_has_an_environment_of_its_own(server: RunningServer, client: str) -> None:
    told = run(client, f"{server.base_url}/mcp", 1, 1)
    assert told == {
        "tools": TOOLS,
        "failed": True,
        "why": "Error calling tool 'fail': tool exploded",
        "values": [1, 2],
        "kinds": ["text", "image"],
    }


def test_the_trainer_sees_equal_steps_and_rewards_whichever_client_called(server: RunningServer) -> None:
    seen = []
    for client in CLIENTS:
        with frame_socket(server.ws_url) as trainer:
            trainer.reset(episode_id="e")
            own = trainer.ask({"type": "mcp", "data": CREATE})["data"]["result"]["session_id"]
            assert run(client, f"{server.base_url}/mcp?session_id={own}", 1, 2)["values"] == [1, 3]
            seen.append(state(trainer))
    expected = {"episode_id": "e", "step_count": 4, "last_reward": 0.5, "episode_return": 2.5, "done": True}
    assert seen == [expected] * len(CLIENTS)


def test_all_clients_play_in_one_session_of_openenvs_tool_client(
    server: RunningServer, stock: StockEnvironment
) -> None:
    commands = [json.dumps([*command(client), "1"]) for client in CLIENTS]
    (told,) = play(stock.python, "tool_client.py", "async", server.base_url, *commands)
    assert told["tools"] == TOOLS
    assert told["failed"] is True
    assert told["values"] == [1, 2, 3, 4]
    # openenv's client: two calls. Each of the others: one that fails, one that counts, one for a picture.
    assert told["steps"] == told["state"]["step_count"] == 2 + 3 * len(CLIENTS)
    assert told["state"]["episode_return"] == 0.5 * told["steps"] + 0.5  # the third count ended the episode with 1.0
    assert told["state"]["done"] is True


def test_openenvs_sync_tool_client_plays_and_leaves_no_session(stock: StockEnvironment) -> None:
    environ = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "30"}
    with running_server("tests.support.apps.tools:counter_app", env=environ) as server:
        for _ in range(2):
            (told,) = play(stock.python, "tool_client.py", "sync", server.base_url)
            assert told == {"tools": TOOLS, "values": [1, 3], "steps": 2}
