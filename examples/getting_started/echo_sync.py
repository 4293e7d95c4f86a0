"""OpenEnv's getting-started program, synchronous: only the address is ours.

Start a server first: ``cd envs/echo && uvicorn server.app:app``.
"""

from __future__ import annotations

import sys

from echo_env import CallToolAction, EchoEnv


def main(base_url: str = "http://localhost:8000") -> None:
    """Echoes one message."""
    with EchoEnv(base_url=base_url).sync() as client:
        result = client.reset()
        print(f"Reset: {result.observation.echoed_message}")

        result = client.step(CallToolAction(tool_name="echo_message", arguments={"message": "Hello!"}))
        print(f"Echoed: {result.observation.result}")
        print(f"State: {client.state().step_count} steps")


if __name__ == "__main__":
    main(*sys.argv[1:])
