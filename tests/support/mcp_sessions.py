"""The official MCP client of this interpreter, patient with a server that has yet to load the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp
from mcp.client import session

PATIENCE = 90.0
"""Seconds after which something hangs: the first call has the server import the SDK, which is seconds of CPU."""

# Else a server that takes ten seconds, on a machine with much to do, passes for one of the older protocol.
session.DISCOVER_TIMEOUT_SECONDS = PATIENCE


@asynccontextmanager
async def mcp_session(server: Any, **options: Any) -> AsyncIterator[mcp.Client]:
    """Connects to an address, or by a transport, for so long at most as something hangs.

    Args:
        server: What ``mcp.Client`` takes.
        **options: Its keywords.
    """
    async with asyncio.timeout(PATIENCE), mcp.Client(server, **options) as client:
        yield client
