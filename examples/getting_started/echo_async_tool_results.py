"""The getting-started program of OpenEnv's later documentation, async: only the address is ours.

It reads the greeting from the observation's metadata and the tool's plain value from its result object.
Start a server first: ``cd envs/echo && uvicorn server.app:app``.
"""

from __future__ import annotations

import asyncio
import sys

from echo_env import CallToolAction, EchoEnv, ListToolsAction


async def main(base_url: str = "http://localhost:8000") -> None:
    """Lists the tools and calls one."""
    async with EchoEnv(base_url=base_url) as client:
        result = await client.reset()
        print(f"Reset: {result.observation.metadata['message']}")

        result = await client.step(ListToolsAction())
        print(f"Tools: {', '.join(tool.name for tool in result.observation.tools)}")

        result = await client.step(CallToolAction(tool_name="echo_with_length", arguments={"message": "Hello!"}))
        print(f"Result: {result.observation.result['data']}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
