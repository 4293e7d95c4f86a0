"""The official MCP SDK's client of the second generation counts in an environment.

Usage: python mcp_sdk_two.py URL BY..., and each BY is a call of the tool ``count``.
"""

from __future__ import annotations

import asyncio
import json
import sys

from mcp import Client


async def play(url: str, steps: list[int]) -> None:
    """Lists the tools, calls one that fails, and counts."""
    async with Client(url) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        failed = await client.call_tool("fail", {})
        values = []
        for by in steps:
            values.append((await client.call_tool("count", {"by": by})).structured_content["result"])
        picture = await client.call_tool("picture", {})
    kinds = [block.type for block in picture.content]
    told = {"tools": tools, "failed": failed.is_error, "why": failed.content[0].text, "values": values, "kinds": kinds}
    print(json.dumps(told))


asyncio.run(play(sys.argv[1], [int(by) for by in sys.argv[2:]]))
