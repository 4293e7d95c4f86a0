"""A driver whose steps are coroutines: its loop runs in a thread, so that keepalives are answered between rounds."""

from __future__ import annotations

import asyncio
import threading
import time
from abc import abstractmethod
from collections.abc import Coroutine
from typing import Any, TypeVar

from benchmarks.drivers.driving import Driver

_T = TypeVar("_T")


class LoopDriver(Driver):
    """Steps by coroutines. A whole round is one of them: nothing crosses threads for a step.

    Args:
        loop: Where they run; a new one of asyncio's by default.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop or asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @abstractmethod
    async def step_all(self) -> None:
        """Steps every lane once."""

    @abstractmethod
    async def count_kept(self) -> int:
        """What ``kept`` says."""

    def wait_for(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Runs a coroutine on the loop to its end."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def step(self) -> None:
        """Steps every lane once."""
        self.wait_for(self.step_all())

    def kept(self) -> int:
        """Steps every lane once more and counts."""
        return self.wait_for(self.count_kept())

    def run(self, seconds: float) -> list[float]:
        """Steps all lanes for some seconds."""
        return self.wait_for(self._run(seconds))

    async def _run(self, seconds: float) -> list[float]:
        took: list[float] = []
        clock = time.perf_counter
        end = clock() + seconds
        before = clock()
        while before < end:
            await self.step_all()
            after = clock()
            took.append(after - before)
            before = after
        return took

    def close(self) -> None:
        """Ends the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
