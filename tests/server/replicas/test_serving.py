"""Several worker processes behind one port, as clients see them."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil
import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.vector.resuming import LINK_HEADER
from openenv_gym_server.placement import worker_of
from openenv_gym_server.serve import Tls, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus

from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.broken_network import broken_network
from tests.support.http import http_client
from tests.support.mcp_sessions import mcp_session
from tests.support.servers import ROOT, RunningServer
from tests.support.serving import serving
from tests.support.sockets import FrameSocket, frame_socket
from tests.support.vector_client import SECONDS, vector_socket

MISBEHAVING = "tests.support.apps.misbehaving:app"
COUNTER = "tests.support.apps.tools:counter_app"
RECORDED = "tests.support.apps.recorded:app"
CREATE = {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1}
NAMED = "X-OpenEnv-Session"
BOTH = {0, 1}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with serving("--workers", "2", app=COUNTER, env={"MAX_CONCURRENT_ENVS": "8"}) as server:
        yield server


def worker_behind(connection: FrameSocket) -> int:
    told = connection.ask({"type": "mcp", "data": CREATE})["data"]["result"]["session_id"]
    worker = worker_of(told)
    assert worker is not None
    return worker


def process_of(server: RunningServer, worker: int) -> psutil.Process:
    found = [
        child
        for child in psutil.Process(server.pid).children()
        if child.environ().get("OPENENV_GYM_WORKER") == str(worker)
    ]
    assert len(found) == 1
    return found[0]


def until(what: str, is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < give_up, what
        time.sleep(0.05)  # no event tells of another process: look again


def slots(server: RunningServer) -> int:
    with http_client(server) as client:
        return int(client.get("/ready").json()["max_sessions"])


def count_over_rpc(client: Any, session: str) -> int:
    call = {"jsonrpc": "2.0", "method": "tools/call", "id": 1}
    params = {"name": "count", "arguments": {}, "session_id": session}
    return int(client.post("/mcp", json=call | {"params": params}).json()["result"]["data"])


def test_the_capacity_is_that_of_all_workers() -> None:
    settings = {"MAX_CONCURRENT_ENVS": "2", "OPENENV_GYM_CAPACITY_WAIT": "0"}
    with serving("--workers", "2", env=settings) as server, ExitStack() as opened:
        # The first connections of all: one that has just ended may count for a moment still.
        sessions = [opened.enter_context(frame_socket(server.ws_url)) for _ in range(4)]
        for session in sessions:
            session.reset()
        with frame_socket(server.ws_url) as fifth:
            assert fifth.receive()["data"]["code"] == "CAPACITY_REACHED"
            assert fifth.close_code() == 1013
        with http_client(server) as client:
            ready = client.get("/ready")
            told = ready.json()
            assert (ready.status_code, told["active_sessions"], told["max_sessions"]) == (503, 4, 4)
            page = client.get("/metrics").text
        assert "openenv_gym_sessions 4.0" in page
        assert "openenv_gym_resets_total 4.0" in page


def test_sockets_go_to_the_worker_with_the_most_room(server: RunningServer) -> None:
    with ExitStack() as opened:
        sessions = [opened.enter_context(frame_socket(server.ws_url)) for _ in range(6)]
        workers = [worker_behind(session) for session in sessions]
    assert sorted(workers) == [0, 0, 0, 1, 1, 1]


def test_sessions_over_http_stay_with_their_worker(server: RunningServer) -> None:
    with http_client(server) as client:
        names = [client.post("/reset", headers={NAMED: ""}).headers[NAMED] for _ in range(4)]
        assert {worker_of(name) for name in names} <= BOTH
        action = {"type": "call_tool", "tool_name": "count", "arguments": {}}
        for turn in (1, 2, 3):
            for name in names:
                answer = client.post("/step", json={"action": action}, headers={NAMED: name})
                assert answer.json()["observation"]["result"]["data"] == turn
        for name in names:
            assert client.post("/close", headers={NAMED: name}).status_code == 204


def test_a_session_is_attached_and_called_by_its_id_wherever_it_is(server: RunningServer) -> None:
    with http_client(server) as client:
        names = [client.post("/mcp", json=CREATE).json()["result"]["session_id"] for _ in range(4)]
        for name in names:
            assert count_over_rpc(client, name) == 1
            with frame_socket(f"{server.ws_url}?session_id={name}") as trainer:
                assert trainer.ask({"type": "state"})["data"]["step_count"] == 1
            closing = {"jsonrpc": "2.0", "method": "openenv/session/close", "params": {"session_id": name}, "id": 1}
            assert client.post("/mcp", json=closing).json()["result"]["closed"] is True


def test_mcp_sessions_of_the_official_client_stay_with_their_worker(server: RunningServer) -> None:
    async def play() -> list[list[int]]:
        async def one() -> list[int]:
            async with mcp_session(f"{server.base_url}/mcp") as client:
                results = [await client.call_tool("count", {}) for _ in range(3)]
                return [int(each.structured_content["result"]) for each in results if each.structured_content]

        return await asyncio.gather(*(one() for _ in range(3)))

    assert asyncio.run(play()) == [[1, 2, 3]] * 3


def test_a_link_is_resumed_on_the_worker_that_has_it() -> None:
    with serving("--workers", "2", app=RECORDED) as server, ExitStack() as opened:
        links = []
        for _ in range(4):
            socket = opened.enter_context(vector_socket(server.ws_url, greet=False))
            links.append(socket.hello(resume=True).link)
            socket.reset(socket.open(1))
            socket.tear()
        names = [link.partition(".")[0] for link in links]
        assert {worker_of(name) for name in names} == BOTH
        for link, name in zip(links, names, strict=True):
            headers = {LINK_HEADER: name}
            again = opened.enter_context(vector_socket(server.ws_url, greet=False, additional_headers=headers))
            again.resume(link)


def test_lanes_of_our_client_go_on_after_their_connection_broke() -> None:
    with serving("--workers", "2", app=RECORDED) as server, broken_network(server.base_url) as network:
        envs = [RemoteVectorEnv(network.base_url, num_envs=2) for _ in range(2)]
        try:
            for env in envs:
                env.reset(seed=[14, 14])
            for number in range(4):
                assert network.cut() == 2
                for env in envs:
                    observation = env.step({"number": np.full(2, number), "seconds": np.zeros(2, np.float32)})[0]
                    assert observation["count"].ravel().tolist() == [number + 1] * 2
        finally:
            for env in envs:
                env.close()


def test_a_worker_that_is_killed_takes_its_own_sessions_only_and_is_restarted() -> None:
    with serving("--workers", "2", app=COUNTER, env={"MAX_CONCURRENT_ENVS": "4"}) as server, ExitStack() as opened:
        sessions = [opened.enter_context(frame_socket(server.ws_url)) for _ in range(2)]
        workers = [worker_behind(session) for session in sessions]
        assert set(workers) == BOTH
        process_of(server, workers[0]).kill()
        with pytest.raises(ConnectionClosed) as closed:
            sessions[0].ask({"type": "state"})
        assert closed.value.rcvd is None
        assert worker_behind(sessions[1]) == workers[1]
        until("the worker is restarted", lambda: slots(server) == 8)
        again = opened.enter_context(frame_socket(server.ws_url))
        assert worker_behind(again) == workers[0]
        assert f"Worker process {workers[0]} ended with -9" in server.log()


def test_a_server_that_is_told_to_end_drains_all_workers() -> None:
    step = {"type": "step", "data": {"do": "sleep", "seconds": 2.0}}
    with serving("--workers", "2") as server, ExitStack() as opened:
        sessions = [opened.enter_context(frame_socket(server.ws_url)) for _ in range(4)]
        assert {worker_behind(session) for session in sessions} == BOTH
        for session in sessions:
            session.reset()
            session.send(step)
            session.send({"type": "state"})
        # Nothing tells a client that its step has begun; who is answered later knows that it was read.
        later = [opened.enter_context(frame_socket(server.ws_url)) for _ in range(4)]
        assert {worker_behind(session) for session in later} == BOTH
        children = psutil.Process(server.pid).children()
        os.kill(server.pid, signal.SIGTERM)
        for session in sessions:
            assert session.receive()["data"]["observation"]["text"] == "slept"
            assert session.close_code() == 1012
        gone, alive = psutil.wait_procs(children, SECONDS)
        assert (len(gone), alive) == (2, [])


def test_workers_end_with_a_router_that_is_killed() -> None:
    with serving("--workers", "2") as server:
        children = psutil.Process(server.pid).children()
        os.kill(server.pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(children, SECONDS)
        assert alive == []


def test_the_token_is_asked_for_by_every_way() -> None:
    with serving("--workers", "2", env={"OPENENV_GYM_TOKEN": "secret"}) as server, http_client(server) as client:
        assert client.get("/health").status_code == 200
        assert [client.get(path).status_code for path in ("/ready", "/metrics", "/schema")] == [401] * 3
        token = {"Authorization": "Bearer secret"}
        assert [client.get(path, headers=token).status_code for path in ("/ready", "/metrics")] == [200, 200]
        with pytest.raises(InvalidStatus), frame_socket(server.ws_url):
            pass
        with frame_socket(server.ws_url, additional_headers=token) as connection:
            assert connection.reset()["done"] is False


def test_slow_loris_a_head_that_does_not_come_to_its_end_is_ended_by_the_router() -> None:
    with serving("--workers", "2", env={"OPENENV_GYM_REQUEST_TIMEOUT": "0.5"}) as server:
        address = urlsplit(server.base_url)
        for sent in (b"", b"GET /health HTTP/1.1\r\nX-Slow: "):
            with socket.create_connection((address.hostname or "", address.port or 0), timeout=SECONDS) as connection:
                connection.sendall(sent)
                with suppress(ConnectionResetError):  # what was sent is left unread
                    assert connection.recv(1) == b""


def test_an_app_that_cannot_be_imported_ends_the_server() -> None:
    command = [sys.executable, "-m", "openenv_gym_server", f"{MISBEHAVING}less", "--port", "0", "--workers", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=3 * SECONDS)
    assert done.returncode == 3
    assert "ended with 1 before it served" in done.stderr


def test_several_workers_need_a_named_app_and_no_tls() -> None:
    with pytest.raises(ConfigurationError, match="named"):
        serve(object(), workers=2)
    with pytest.raises(ConfigurationError, match="TLS"):
        serve(MISBEHAVING, workers=2, tls=Tls(__file__))
