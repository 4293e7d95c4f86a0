"""The getting-started program of OpenEnv's later documentation, synchronous: only the address is ours.

It reads the greeting from the observation's metadata and the tool's plain value from its result object.
Start a server first: ``cd envs/echo && uvicorn server.app:app``.
"""

from __future__ import annotations

import sys

from echo_env import CallToolAction, EchoEnv


def main(base_url: str = "http://localhost:8000") -> None:
    """Calls one tool."""
    with EchoEnv(base_url=base_url).sync() as client:
        result = client.reset()
        print(f"Reset: {result.observation.metadata['message']}")

        result = client.step(CallToolAction(tool_name="echo_message", arguments={"message": "Hello!"}))
        print(f"Result: {result.observation.result['data']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
