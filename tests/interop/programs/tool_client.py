"""openenv's MCPToolClient counts in an environment, and lets others count in the same one.

Usage: python tool_client.py async|sync URL COMMAND..., and each COMMAND, a JSON list, is run with the address of the
session after it. At the end the state of the session is told, rewards and all.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import httpx
from openenv.core.mcp_client import MCPToolClient


async def play(client: MCPToolClient, url: str, commands: list[list[str]]) -> None:
    """Lists the tools, calls one that fails, and counts."""
    await client.reset()
    tools = [tool.name for tool in await client.list_tools()]
    why = None
    try:
        await client.call_tool("fail")
    except RuntimeError as error:
        why = str(error)
    values = [await client.call_tool("count", by=1)]
    session_id = client._production_session_id
    for command in commands:
        done = await asyncio.to_thread(
            subprocess.run, [*command[:-1], f"{url}/mcp?session_id={session_id}", command[-1]], capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        values += json.loads(done.stdout.splitlines()[-1])["values"]
    told = {"tools": tools, "failed": why is not None, "why": why, "values": values}
    told["steps"] = (await client.state()).step_count
    told["state"] = httpx.get(f"{url}/state", headers={"X-OpenEnv-Session": session_id}, trust_env=False).json()
    print(json.dumps(told))


async def main(url: str, commands: list[list[str]]) -> None:
    """Plays by the client."""
    async with MCPToolClient(base_url=url) as client:
        await play(client, url, commands)


def main_sync(url: str) -> None:
    """Plays by the sync twin, alone."""
    with MCPToolClient(base_url=url).sync() as client:
        client.reset()
        tools = [tool.name for tool in client.list_tools()]
        values = [client.call_tool("count", by=by) for by in (1, 2)]
        print(json.dumps({"tools": tools, "values": values, "steps": client.state().step_count}))


if sys.argv[1] == "async":
    asyncio.run(main(sys.argv[2], [json.loads(each) for each in sys.argv[3:]]))
else:
    main_sync(sys.argv[2])
