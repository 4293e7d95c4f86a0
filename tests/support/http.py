"""A plain HTTP client for tests that look at a server's answers."""

from __future__ import annotations

import httpx

from tests.support.servers import RunningServer

SECONDS = 60.0
"""After which something hangs; the first MCP request has the server import the SDK, which is seconds of CPU."""


def http_client(server: RunningServer, **headers: str) -> httpx.Client:
    """A client of one server, deaf to proxies; give headers with underscores for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Client(base_url=server.base_url, headers=named, trust_env=False, timeout=SECONDS)
