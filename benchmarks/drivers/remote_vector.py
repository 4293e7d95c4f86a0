"""Drives a server by ``RemoteVectorEnv``; arguments: ``base_url``, ``lanes``, ``wire`` (optional)."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.drivers.driving import Driver, drive
from openenv_gym import RemoteVectorEnv


class RemoteVectorDriver(Driver):
    """All lanes of one vector environment."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.lanes = arguments["lanes"]
        self._env = RemoteVectorEnv(arguments["base_url"], num_envs=self.lanes, wire=arguments.get("wire"))
        self._env.reset(seed=0)
        self._actions = np.ones(self.lanes, np.int64)

    def step(self) -> None:
        """Steps every lane once."""
        self._env.step(self._actions)

    def kept(self) -> int:
        """The first value of each row is its lane's count of steps; pictures have it modulo 256."""
        observations = self._env.step(self._actions)[0]
        counts = observations.reshape(self.lanes, -1)[:, 0]
        expected = (self.batches + 1) % 256 if counts.dtype == np.uint8 else self.batches + 1
        return int(np.sum(counts == expected))

    def close(self) -> None:
        """Ends the sessions."""
        self._env.close()


if __name__ == "__main__":
    drive(RemoteVectorDriver)
