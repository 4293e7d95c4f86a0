"""fastmcp's client counts in an environment.

Usage: python fastmcp_client.py URL BY..., and each BY is a call of the tool ``count``.
"""

from __future__ import annotations

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.exceptions import ToolError


async def play(url: str, steps: list[int]) -> None:
    """Lists the tools, calls one that fails, and counts."""
    async with Client(url) as client:
        tools = [tool.name for tool in await client.list_tools()]
        why = None
        try:
            await client.call_tool("fail", {})
        except ToolError as error:
            why = str(error)
        values = []
        for by in steps:
            values.append((await client.call_tool("count", {"by": by})).structured_content["result"])
        picture = await client.call_tool("picture", {})
    kinds = [block.type for block in picture.content]
    told = {"tools": tools, "failed": why is not None, "why": why, "values": values, "kinds": kinds}
    print(json.dumps(told))


asyncio.run(play(sys.argv[1], [int(by) for by in sys.argv[2:]]))
