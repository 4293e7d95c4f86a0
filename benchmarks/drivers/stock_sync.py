"""Drives one session by openenv's ``.sync()`` client; argument: ``base_url``."""

from __future__ import annotations

from typing import Any

from benchmarks.drivers.driving import Driver, drive
from benchmarks.drivers.stock_client import ValueAction, ValuesClient


class StockSyncDriver(Driver):
    """One session."""

    lanes = 1

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._client = ValuesClient(base_url=arguments["base_url"])
        self._synced = self._client.sync()
        self._synced.__enter__()
        self._synced.reset()
        self._action = ValueAction(value=1)

    def step(self) -> None:
        """Steps it once."""
        self._synced.step(self._action)

    def kept(self) -> int:
        """The observation tells the count of steps."""
        return int(self._client.count(self._synced.step(self._action).observation) == self.batches + 1)

    def close(self) -> None:
        """Ends the session."""
        self._synced.__exit__(None, None, None)


if __name__ == "__main__":
    drive(StockSyncDriver)
