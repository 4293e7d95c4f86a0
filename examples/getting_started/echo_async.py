"""OpenEnv's getting-started program, async: only the address is ours.

Start a server first: ``cd envs/echo && uvicorn server.app:app``.
"""

from __future__ import annotations

import asyncio
import sys

from echo_env import CallToolAction, EchoEnv


async def main(base_url: str = "http://localhost:8000") -> None:
    """Echoes three messages."""
    async with EchoEnv(base_url=base_url) as client:
        result = await client.reset()
        print(f"Reset: {result.observation.echoed_message}")

        for message in ("Hello, World!", "Testing echo", "Final message"):
            result = await client.step(CallToolAction(tool_name="echo_message", arguments={"message": message}))
            print(f"Sent: {message!r}")
            print(f"  -> Echoed: {result.observation.result}")
            print(f"  -> Reward: {result.reward}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
