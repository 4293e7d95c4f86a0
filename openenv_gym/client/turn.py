"""One call of a session at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType


class Turn:
    """A lock of the event loop's that is also taken without waiting. Who waits is served in the order of coming.

    Attributes:
        is_taken: Whether somebody has it.
    """

    def __init__(self) -> None:
        self.is_taken = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Takes it, if nobody has it."""
        if self.is_taken:
            return False
        self.is_taken = True
        return True

    def give_back(self) -> None:
        """Hands it to the next who waits."""
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return
        self.is_taken = False

    async def __aenter__(self) -> None:
        if self.take():
            return
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            await waiting
        except asyncio.CancelledError:
            if not waiting.cancelled():
                self.give_back()  # it was handed over as the cancelling came
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.give_back()
