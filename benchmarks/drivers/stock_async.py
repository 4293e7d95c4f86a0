"""Drives a server by openenv's async clients, all steps gathered; arguments: ``base_url``, ``lanes``, ``pictures``."""

from __future__ import annotations

import asyncio
from typing import Any

from benchmarks.drivers.driving import drive
from benchmarks.drivers.loops import LoopDriver
from benchmarks.drivers.stock_client import PicturesClient, ValueAction, ValuesClient


class StockDriver(LoopDriver):
    """One client a lane."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        super().__init__()
        self.lanes = arguments["lanes"]
        self._pictures = bool(arguments.get("pictures"))
        made = PicturesClient if self._pictures else ValuesClient
        self._clients = [made(base_url=arguments["base_url"]) for _ in range(self.lanes)]
        self._action = ValueAction(value=1)
        self.wait_for(self._begin())

    async def _begin(self) -> None:
        for client in self._clients:
            await client.connect()
            await client.reset()

    async def step_all(self) -> None:
        """Steps every lane once."""
        await asyncio.gather(*(client.step(self._action) for client in self._clients))

    async def count_kept(self) -> int:
        """The observations tell the count of steps."""
        results = await asyncio.gather(*(client.step(self._action) for client in self._clients))
        expected = (self.batches + 1) % 256 if self._pictures else self.batches + 1
        return sum(
            client.count(result.observation) == expected for client, result in zip(self._clients, results, strict=True)
        )

    def close(self) -> None:
        """Ends the sessions."""
        self.wait_for(self._end())
        super().close()

    async def _end(self) -> None:
        await asyncio.gather(*(client.close() for client in self._clients), return_exceptions=True)


if __name__ == "__main__":
    drive(StockDriver)
