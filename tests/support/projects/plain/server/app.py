"""A bare ASGI application that answers the routes the tests of providers ask for."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

print("plain server starts", flush=True)

if os.environ.get("OPENENV_GYM_SERVER_INDEX", "0").startswith(tuple(os.environ.get("PLAIN_DIES_AS", "-").split(","))):
    sys.exit("this server is one of those that die")

if os.environ.get("PLAIN_SLOW"):
    import time

    time.sleep(float(os.environ["PLAIN_SLOW"]))

if os.environ.get("PLAIN_CHILD"):
    # In a session of its own, no process group finds it.
    child = subprocess.Popen(["sleep", "300"], start_new_session=os.environ["PLAIN_CHILD"] == "session")


def _listeners() -> list[dict[str, Any]]:
    found = []
    for fd in range(3, 64):
        try:
            with socket.socket(fileno=os.dup(fd)) as each:
                if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    nodelay = bool(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
                    found.append({"address": each.getsockname()[0], "nodelay": nodelay})
        except OSError:
            # No descriptor of that number, or none of a socket.
            continue
    return found


def _answer(path: str, scope: dict[str, Any]) -> Any:
    if path == "/scope":
        return {"client": scope["client"], "server": scope["server"], "pid": os.getpid()}
    if path == "/listeners":
        return _listeners()
    if path == "/environ":
        return dict(os.environ)
    if path == "/python":
        return {"executable": sys.executable, "cwd": str(Path.cwd())}
    return {"status": "healthy"}


async def _http(scope: dict[str, Any], send: Any) -> None:
    path = scope["path"]
    if path == "/hang":
        await asyncio.sleep(600)
    if path == "/log":
        print(scope["query_string"].decode(), flush=True)
    status = int(os.environ.get("PLAIN_HEALTH", "200")) if path == "/health" else 200
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(_answer(path, scope)).encode()})


async def _websocket(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers HTTP requests, and echoes on WebSockets."""
    if scope["type"] == "http":
        await _http(scope, send)
    elif scope["type"] == "websocket":
        await _websocket(receive, send)
