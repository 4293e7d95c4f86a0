"""Drives one session by ``RemoteEnv``; arguments: ``base_url``, ``wire`` (optional)."""

from __future__ import annotations

from typing import Any

from benchmarks.drivers.driving import Driver, drive
from openenv_gym import RemoteEnv


class RemoteDriver(Driver):
    """One environment."""

    lanes = 1

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._env = RemoteEnv(arguments["base_url"], wire=arguments.get("wire"))
        self._env.reset(seed=0)

    def step(self) -> None:
        """Steps it once."""
        self._env.step(1)

    def kept(self) -> int:
        """The first value is the count of steps."""
        return int(self._env.step(1)[0][0] == self.batches + 1)

    def close(self) -> None:
        """Ends the session."""
        self._env.close()


if __name__ == "__main__":
    drive(RemoteDriver)
