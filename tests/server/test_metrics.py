from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from openenv_gym_protocol.vector import frames
from openenv_gym_server.counters import Durations, Tally

from tests.support.http import http_client
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.sockets import frame_socket
from tests.support.vector_client import vector_socket

TOKEN = "a-secret-of-the-test"


def read(server: RunningServer) -> dict[str, float]:
    """Every number that a server tells Prometheus, by its name and labels."""
    with http_client(server, x_openenv_token=TOKEN) as client:
        page = client.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain; version=")
    lines = re.findall(r"^(openenv_gym_\S+) (\S+)$", page.text, re.MULTILINE)
    return {name.removeprefix("openenv_gym_"): float(value) for name, value in lines}


@pytest.fixture
def server() -> Iterator[RunningServer]:
    settings = {"OPENENV_GYM_TOKEN": TOKEN, "MAX_CONCURRENT_ENVS": "3", "OPENENV_GYM_CAPACITY_WAIT": "0"}
    with running_server("tests.support.apps.misbehaving:app", env=settings) as server:
        yield server


def test_what_living_sessions_do_is_counted_on_both_wires(server: RunningServer) -> None:
    token = {"X-OpenEnv-Token": TOKEN}
    with frame_socket(server.ws_url, additional_headers=token) as socket:
        socket.reset()
        for _ in range(20):
            socket.step(do="answer")
        socket.step(do="raise")
        socket.ask({"type": "step", "data": {"number": "none"}})
        with vector_socket(server.ws_url, additional_headers=token) as lanes:
            numbers = lanes.open(2)
            lanes.reset(numbers)
            lanes.step(numbers, [{"do": "answer"}] * 2)
            assert lanes.refusal(frames.Open, lanes=1).failure == "capacity"
            found = read(server)
    assert (found["sessions"], found["sessions_limit"], found["sessions_opened_total"]) == (3, 3, 3)
    assert (found["steps_total"], found["resets_total"]) == (23, 3)
    assert found['failures_total{failure_class="environment"}'] == 1
    assert found['failures_total{failure_class="validation"}'] == 1
    assert found['failures_total{failure_class="capacity"}'] == 1
    assert found["reset_seconds_count"] == 3
    assert found["step_seconds_count"] >= 1
    assert found['step_seconds_bucket{le="+Inf"}'] == found["step_seconds_count"]
    assert found["step_seconds_sum"] > 0


def test_what_ended_sessions_did_stays_counted(server: RunningServer) -> None:
    for _ in range(2):
        with frame_socket(server.ws_url, additional_headers={"X-OpenEnv-Token": TOKEN}) as socket:
            socket.reset()
            socket.step(do="answer")
            socket.send({"type": "close"})
            socket.close_code()
    found = read(server)
    assert (found["steps_total"], found["resets_total"], found["sessions_opened_total"]) == (2, 2, 2)


def test_refused_requests_are_counted_by_their_reason(server: RunningServer) -> None:
    with http_client(server) as client:
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers={"Origin": "https://evil.example"}).status_code == 403
    found = read(server)
    assert found['requests_refused_total{reason="token"}'] == 1
    assert found['requests_refused_total{reason="origin"}'] == 1


def test_a_server_that_nobody_watches_does_not_load_prometheus() -> None:
    program = "import sys, tests.support.apps.counting; sys.exit('prometheus_client' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=60)


@pytest.mark.parametrize(
    ("seconds", "index"),
    [
        (0.0, 0),
        (0.9e-6, 0),
        (1e-6, 1),
        (3e-6, 1),
        (4e-6, 2),
        (15e-6, 2),
        (16e-6, 3),
        (1.0, 10),
        (1073.0, 15),
        (1e9, 16),
    ],
)
def test_a_duration_is_in_the_bucket_below_its_bound(seconds: float, index: int) -> None:
    times = Durations()
    times.add(seconds)
    assert times.buckets.index(1) == index
    assert index == len(times.bounds) or seconds < times.bounds[index]
    assert index == 0 or seconds >= times.bounds[index - 1]


def test_tallies_add_up() -> None:
    one, two = Tally(steps=1, failures=2), Tally(steps=3, resets=4, invalid=5)
    two.step_times.add(1.0)
    one.merge(two)
    assert (one.steps, one.resets, one.failures, one.invalid, one.step_times.seconds) == (4, 4, 2, 5, 1.0)


def test_every_sixteenth_step_and_every_reset_is_timed_and_nothing_else() -> None:
    tally = Tally()
    for operation, calls in (("step", 33), ("reset", 5), ("state", 7)):
        for _ in range(calls):
            tally.time(operation, time.monotonic())
    assert (sum(tally.step_times.buckets), sum(tally.reset_times.buckets)) == (3, 5)


def test_whatever_is_none_of_the_wires_counts_as_protocol(server: RunningServer) -> None:
    token = {"X-OpenEnv-Token": TOKEN}
    with frame_socket(server.ws_url, additional_headers=token) as socket, http_client(server, **token) as client:
        for frame in ("{bad", '{"type": "unknown"}', {"type": "mcp", "data": {"method": 1}}):
            socket.ask(frame)
        socket.ask({"type": "mcp", "data": {"jsonrpc": "2.0", "method": "tools/unknown", "id": 1}})
        client.post("/mcp", content=b"{bad")
        with vector_socket(server.ws_url, additional_headers=token) as lanes:
            lanes.send_raw(b"bad")
            lanes.receive(frames.UNREADABLE)
            lanes.connection.socket.sendall(b"\xff\xff")
            assert lanes.close_code() == 1002
        with frame_socket(server.ws_url, additional_headers=token) as other:
            other.reset()
            other.connection.socket.sendall(b"\xff\xff")
            assert other.close_code() == 1002
        found = read(server)
    assert found['failures_total{failure_class="protocol"}'] == 8
    assert found['failures_total{failure_class="validation"}'] == 0
