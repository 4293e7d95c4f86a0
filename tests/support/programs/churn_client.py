"""One client that opens sessions of every kind, says so, and then behaves as it is told until it is killed.

``churn_client.py <base url> <sessions> <way>``: ``leave`` closes all, ``hang`` asks for steps that last too long,
``half`` sends half a frame and half a head, ``wait`` does nothing more.
"""

from __future__ import annotations

import json
import socket
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.frames import Batch

from tests.support.sockets import FrameSocket, frame_socket
from tests.support.vector_client import VectorSocket, vector_socket

ADD = {"type": "call_tool", "tool_name": "add", "arguments": {"a": 1, "b": 2}}
NAP = {"type": "call_tool", "tool_name": "nap", "arguments": {"seconds": 5.0}}
HALF_A_FRAME = b"\x81\xfe\x10\x00\x01\x02\x03\x04half"
HALF_A_HEAD = b"POST /reset HTTP/1.1\r\nHost: localhost\r\nX-Half: "


class Client:
    """The sessions of one process, a quarter of each kind."""

    def __init__(self, base_url: str, count: int, opened: ExitStack) -> None:
        self._url = base_url
        self._ws_url = base_url.replace("http://", "ws://")
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._opened = opened
        share = count // 4
        self.standard = [self._enter(frame_socket, "/ws") for _ in range(count - 3 * share)]
        self.mcp = [self._enter(frame_socket, "/mcp") for _ in range(share)]
        self.attached = [self._enter(frame_socket, f"/ws?session_id={self._created()}") for _ in range(share)]
        self.lanes: VectorSocket = self._enter(vector_socket, "/ws", greet=False)
        self.lanes.hello(resume=True)
        self.numbers = self.lanes.open(share)

    def step(self) -> None:
        """Resets and steps all of them."""
        for each in (*self.standard, *self.attached):
            each.reset()
            assert each.step(**ADD)["observation"]["result"]["data"] == 3
        for each in self.mcp:
            answer = each.ask(_rpc("tools/call", name="add", arguments={"a": 1, "b": 2}))
            assert answer["result"]["data"] == 3, answer
        self.lanes.reset(self.numbers)
        assert self.lanes.step(self.numbers, [ADD] * len(self.numbers)).rewards.keys() == set(self.numbers)

    def hang(self) -> None:
        """Asks each for a step that lasts longer than the server waits for it."""
        for each in (*self.standard, *self.attached):
            each.send({"type": "step", "data": NAP})
        for each in self.mcp:
            each.send(_rpc("tools/call", name="nap", arguments={"seconds": 5.0}))
        self.lanes.send(frames.Step, lanes=self.numbers, actions=Batch(values=[NAP] * len(self.numbers)))

    def half(self) -> None:
        """Begins what it never ends, also on connections that are none of a session yet."""
        address = urlsplit(self._url)
        for each in (*self.standard, *self.attached, *self.mcp, self.lanes):
            each.connection.socket.sendall(HALF_A_FRAME)
        for _ in self.standard:
            connection = self._opened.enter_context(
                socket.create_connection((address.hostname or "", address.port or 0))
            )
            connection.sendall(HALF_A_HEAD)

    def _created(self) -> str:
        asked = urllib.request.Request(f"{self._url}/mcp", json.dumps(_rpc("openenv/session/create")).encode())
        with self._opener.open(asked, timeout=30) as answer:
            created: str = json.loads(answer.read())["result"]["session_id"]
            return created

    def _enter(self, connect: Callable[..., Any], path: str, **options: Any) -> Any:
        found: FrameSocket | VectorSocket = self._opened.enter_context(connect(self._ws_url + path, **options))
        return found


def _rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def main(base_url: str, count: str, way: str) -> None:
    """Opens, steps, says ``ready`` and behaves."""
    with ExitStack() as opened:
        client = Client(base_url, int(count), opened)
        client.step()
        if way in ("hang", "half"):
            getattr(client, way)()
        print("ready", flush=True)
        while way != "leave":
            time.sleep(60)  # until it is killed


if __name__ == "__main__":
    main(*sys.argv[1:])
