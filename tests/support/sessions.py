"""How many sessions a server has, by its own word."""

from __future__ import annotations

import re
import time

from tests.support.http import http_client
from tests.support.servers import RunningServer

PATIENCE = 20.0
"""Seconds after which something that should have happened is taken as not happening."""


def sessions_of(server: RunningServer) -> int:
    """The sessions that take a slot now."""
    return int(metric_of(server, "openenv_gym_sessions"))


def metric_of(server: RunningServer, name: str) -> float:
    """The value of a metric without labels."""
    with http_client(server) as client:
        text = client.get("/metrics").text
    found = re.search(rf"^{name} ([\d.e+]+)$", text, re.MULTILINE)
    assert found, text
    return float(found[1])


def wait_for_sessions(server: RunningServer, count: int = 0) -> None:
    """Waits until a server has so many sessions: it ends them a moment after their sockets."""
    until = time.monotonic() + PATIENCE
    while (found := sessions_of(server)) != count:
        assert time.monotonic() < until, f"{found} sessions, not {count}"
        time.sleep(0.05)
