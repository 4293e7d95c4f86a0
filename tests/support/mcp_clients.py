"""MCP clients of other packages, each in a virtual environment of its own; see ``tests.support.venvs``."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.stock import PROGRAMS
from tests.support.venvs import virtual_environment

REQUIREMENTS = {"sdk-1": "mcp==1.30.0", "fastmcp": "fastmcp==4.2.3"}
"""What pip installs for each client that this environment does not have."""

_PROGRAMS = {"sdk-2": "mcp_sdk_two.py", "sdk-1": "mcp_sdk_one.py", "fastmcp": "fastmcp_client.py"}

CLIENTS = tuple(_PROGRAMS)
"""The official SDK's of both generations, and fastmcp's."""


def mcp_client(name: str) -> list[str]:
    """The command that plays with one of ``CLIENTS``; the address and how far to count follow.

    Raises:
        VenvUnavailable: Its environment is not there and could not be made.
    """
    python: str | Path = sys.executable
    if name in REQUIREMENTS:
        python = virtual_environment(f"mcp-{name}", [REQUIREMENTS[name]])
    return [str(python), "-W", "ignore", str(PROGRAMS / _PROGRAMS[name])]
