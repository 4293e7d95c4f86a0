"""A plain client of the standard wire, for tests that look at frames."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

SECONDS = 30.0
"""How long a reply may take before a test fails."""


class FrameSocket:
    """One connection; replies are returned as they come, decoded from JSON."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def send(self, message: Any) -> None:
        """Sends a message as JSON; text and bytes as they are."""
        self.connection.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def receive(self) -> dict[str, Any]:
        """The next frame."""
        reply: dict[str, Any] = json.loads(self.connection.recv(timeout=SECONDS))
        return reply

    def ask(self, message: Any) -> dict[str, Any]:
        """Sends a message and returns the reply."""
        self.send(message)
        return self.receive()

    def reset(self, **data: Any) -> dict[str, Any]:
        """Resets; returns the reply's data."""
        reply: dict[str, Any] = self.ask({"type": "reset", "data": data})["data"]
        return reply

    def step(self, **action: Any) -> dict[str, Any]:
        """Steps; returns the reply's data."""
        reply: dict[str, Any] = self.ask({"type": "step", "data": action})["data"]
        return reply

    def close_code(self) -> int | None:
        """Waits until the server closes, and returns its code."""
        try:
            while True:
                self.connection.recv(timeout=SECONDS)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None


@contextmanager
def frame_socket(url: str, **options: Any) -> Iterator[FrameSocket]:
    """Connects to a server's ``/ws``."""
    with connect(url, max_size=None, proxy=None, open_timeout=SECONDS, **options) as connection:
        yield FrameSocket(connection)
