"""Where a connection's frames wait for the call that reads them."""

from __future__ import annotations

import asyncio
from collections import deque

from openenv_gym_protocol.errors import OpenEnvGymError


class Inbox:
    """The listener of one connection, read by one call at a time. Lives on the connection's event loop.

    Attributes:
        frames: What came and was not read, oldest first.
        ended: Why the connection ended, or None while it is open.
    """

    def __init__(self) -> None:
        self.frames: deque[str | bytes] = deque()
        self.ended: OpenEnvGymError | None = None
        self._reader: asyncio.Future[None] | None = None

    def frame_received(self, frame: str | bytes) -> None:
        """Keeps a frame and wakes the reader."""
        self.frames.append(frame)
        self._wake()

    def connection_lost(self, error: OpenEnvGymError) -> None:
        """Notes the end and wakes the reader; the first reason given is kept."""
        if self.ended is None:
            self.ended = error
        self._wake()

    async def next(self, timeout: float | None) -> str | bytes:
        """Waits for a frame. Frames that came before the connection ended are read first.

        Args:
            timeout: Seconds to wait; None for no limit.

        Raises:
            TimeoutError: Nothing came in time.
            OpenEnvGymError: The connection ended, and this is why.
        """
        if not self.frames and self.ended is None:
            await self._arrival(timeout)
        if self.frames:
            return self.frames.popleft()
        if self.ended is not None:
            raise self.ended
        raise TimeoutError

    async def _arrival(self, timeout: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._reader = loop.create_future()
        timer = loop.call_later(timeout, self._wake) if timeout is not None else None
        try:
            await self._reader
        finally:
            self._reader = None
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
