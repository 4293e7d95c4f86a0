"""Serves several apps, each on a port of its own that the kernel chose, and tells the addresses as one JSON line.

Usage: python serve.py MODULE:ATTRIBUTE...
"""

from __future__ import annotations

import asyncio
import importlib
import json
import socket
import sys
from pathlib import Path

import uvicorn


async def serve(names: list[str]) -> None:
    """Runs all servers on one loop until the process is ended."""
    addresses, running = {}, []
    for name in names:
        module, attribute = name.split(":")
        app = getattr(importlib.import_module(module), attribute)
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        addresses[name] = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        running.append((server, asyncio.create_task(server.serve(sockets=[listener]))))
    while not all(server.started for server, _ in running):
        await asyncio.sleep(0.01)
    print(json.dumps(addresses), flush=True)
    await asyncio.gather(*(task for _, task in running))


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    asyncio.run(serve(sys.argv[1:]))
