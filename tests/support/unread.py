"""Sockets of clients that do not read what they are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from openenv_gym_protocol.vector import codec, frames


class Unread:
    """The socket of a client that reads nothing but the first three answers until it is told to.

    It sends each step when the one before was taken.

    Args:
        requests: What it sends.
        steps_taken: How many steps were taken.
    """

    def __init__(self, requests: list[frames.Request], steps_taken: Callable[[], int]) -> None:
        self.requests = requests
        self._steps_taken = steps_taken
        self.taken = 0
        self.is_awaited = True
        """The server waits for the next request."""
        self.may_read = asyncio.Event()
        self._read: asyncio.Queue[Any] = asyncio.Queue()

    async def receive(self) -> dict[str, Any]:
        self.is_awaited = True
        if 0 < self.taken <= 3:
            await self._read.get()
        while self._steps_taken() < self.taken - 3:
            await asyncio.sleep(0.001)
        if self.taken == len(self.requests):
            await self.may_read.wait()
            for _ in self.requests[3:]:
                await self._read.get()
            return {"type": "websocket.disconnect"}
        self.taken += 1
        self.is_awaited = False
        return {"type": "websocket.receive", "bytes": codec.encode(self.requests[self.taken - 1])}

    async def send(self, message: Any) -> None:
        if codec.decode_reply(message["bytes"]).id > 2:
            await self.may_read.wait()
        self._read.put_nowait(message)

    async def is_read_no_further(self) -> None:
        while self.taken < len(self.requests) and (self.is_awaited or self.taken <= 3):
            await asyncio.sleep(0.001)


class Unsent:
    """A socket whose client reads nothing until it is told to."""

    close_code: int | None = None

    def __init__(self) -> None:
        self.frames: list[str | bytes] = []
        self.is_read = True

    def send(self, frame: str | bytes) -> None:
        self.frames.append(frame)

    def close(self, code: int) -> None:
        self.close_code = code

    def settle(self) -> None:
        pass

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def lend(self, when_ended: Callable[[], None]) -> None:
        pass

    def take_back(self) -> None:
        pass
