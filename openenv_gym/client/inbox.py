"""Where a connection's frames wait for the call that reads them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

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
        self._on_arrival: Callable[[], object] | None = None
        self._timer: asyncio.TimerHandle | None = None

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
        await self.arrival(timeout)
        return self.take()

    def call_when_there(self, call: Callable[[], object], timeout: float | None) -> None:
        """Has a function called, once, when there is a frame or the end, or when the time is over.

        Args:
            call: The function.
            timeout: Seconds until it is called in any case; None for no limit.
        """
        self._on_arrival = call
        if timeout is not None:
            self._timer = asyncio.get_running_loop().call_later(timeout, self._wake)
        if self.frames or self.ended is not None:
            self._wake()

    def call_nobody(self) -> None:
        """Forgets the function that would be called."""
        self._on_arrival = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def take(self) -> str | bytes:
        """Takes a frame; errors as those of ``next``."""
        if self.frames:
            return self.frames.popleft()
        if self.ended is not None:
            raise self.ended
        raise TimeoutError

    async def arrival(self, timeout: float | None) -> None:
        """Waits until there is a frame or the end, or the time is over."""
        if self.frames or self.ended is not None:
            return
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
        call = self._on_arrival
        if call is not None:
            self.call_nobody()
            call()
        elif self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
