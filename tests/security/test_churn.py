"""Sessions that are opened, stepped, left, hung and killed again and again leave a server as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil
import pytest

from tests.support.http import http_client
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.vector_client import server_faults

PROGRAM = Path(__file__).parents[1] / "support" / "programs" / "churn_client.py"
WAYS = ("leave", "wait", "stopped", "hang", "half")
SESSIONS = int(os.environ.get("OPENENV_GYM_CHURN_SESSIONS", "128"))
SECONDS = float(os.environ.get("OPENENV_GYM_CHURN_SECONDS", "0"))
"""How long rounds of all sessions follow each other; at least one does."""

PATIENCE = 60.0
SETTINGS = {
    "MAX_CONCURRENT_ENVS": str(SESSIONS),
    "OPENENV_GYM_STEP_TIMEOUT": "3",
    "OPENENV_GYM_DISCONNECT_GRACE": "0.2",
    "OPENENV_GYM_LINGER": "0.3",
    "OPENENV_GYM_SESSION_IDLE_TTL": "4",
    "OPENENV_GYM_REQUEST_TIMEOUT": "4",
    "OPENENV_GYM_CAPACITY_WAIT": "0",
    "UVICORN_WS_PING_INTERVAL": "3",
    "UVICORN_WS_PING_TIMEOUT": "3",
}


class Held(NamedTuple):
    """What a server holds of the machine."""

    resident: int
    threads: int
    descriptors: int


def held(server: RunningServer) -> Held:
    process = psutil.Process(server.pid)
    return Held(process.memory_info().rss, process.num_threads(), process.num_fds())


def until(what: str, is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < give_up, what
        time.sleep(0.05)  # no event tells of another process: look again


def is_free(client: httpx.Client) -> bool:
    ready = client.get("/ready").json()
    return bool(ready["ready"]) and (ready["active_sessions"], ready["hung_sessions"]) == (0, 0)


def churn(server: RunningServer, sessions: int) -> None:
    """Every way once, all at the same time; at its end nobody is connected."""
    share = sessions // len(WAYS)
    clients = []
    try:
        for way in WAYS:
            command = [sys.executable, str(PROGRAM), server.base_url, str(share), way]
            clients.append(
                subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE)
            )
        for client in clients:
            assert client.stdout is not None
            assert client.stdout.readline() == b"ready\n"
        os.kill(clients[WAYS.index("stopped")].pid, signal.SIGSTOP)
        for way, client in zip(WAYS, clients, strict=True):
            if way in ("wait", "hang", "half"):
                client.kill()
        assert clients[0].wait(PATIENCE) == 0
        with http_client(server) as asking:  # before those that are stopped are killed: the server finds them itself
            until("all sessions end", lambda: is_free(asking))
    finally:
        for client in clients:
            client.kill()
            client.wait(PATIENCE)
            assert client.stdout is not None
            client.stdout.close()


@pytest.mark.timeout(600)
def test_sessions_opened_stepped_hung_and_killed_leave_capacity_memory_threads_and_descriptors() -> None:
    with running_server("tests.support.apps.churned:app", env=SETTINGS) as server:
        for _ in range(2):
            churn(server, SESSIONS)
        before = held(server)
        end = time.monotonic() + SECONDS
        churn(server, SESSIONS)
        while time.monotonic() < end:
            churn(server, SESSIONS)
        until("threads end", lambda: held(server).threads <= before.threads)
        until("descriptors are closed", lambda: held(server).descriptors <= before.descriptors)
        after = held(server)
        assert after.resident <= before.resident * 1.1, (before, after)
        assert not server_faults(server)
