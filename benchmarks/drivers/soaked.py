"""Steps lanes that end and fail, over a network that is cut, at the pace that it is told.

Arguments: ``base_url`` (one or a list), ``lanes``, ``pause`` (seconds between two steps).
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
from openenv_gym_protocol import errors

from benchmarks.drivers.driving import Driver, drive
from openenv_gym import RemoteVectorEnv

STEP_SECONDS = 30.0
OUTAGE_SECONDS = 60.0
"""How long nothing may go."""


class SoakDriver(Driver):
    """All lanes of one vector environment, each of whose rows is checked."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.lanes = arguments["lanes"]
        self._pause = arguments["pause"]
        self._env = RemoteVectorEnv(
            arguments["base_url"], num_envs=self.lanes, on_failure="truncate", timeouts={"step": STEP_SECONDS}
        )
        self._told: Counter[str] = Counter()
        self._actions = np.ones(self.lanes, np.int64)
        self._reset()

    def _reset(self) -> None:
        self._env.reset(seed=0)
        self._counts = np.zeros(self.lanes, np.int64)
        self._over = np.zeros(self.lanes, np.bool_)

    def step(self) -> None:
        """Steps every lane once, checks what came, and pauses; after an outage it begins anew, as a trainer would."""
        try:
            self._step()
        except errors.InfrastructureFailure as error:
            self._told[f"raised: {type(error).__name__}"] += 1
            self._begin_anew()
        time.sleep(self._pause)

    def _begin_anew(self) -> None:
        give_up = time.monotonic() + OUTAGE_SECONDS
        while True:
            time.sleep(self._pause)
            try:
                return self._reset()
            except errors.InfrastructureFailure:
                if time.monotonic() > give_up:
                    raise

    def _step(self) -> None:
        observations, _, terminations, truncations, infos = self._env.step(self._actions)
        failures = infos.get("failure", [None] * self.lanes)
        failed = np.array([failure is not None for failure in failures])
        self._counts = np.where(failed, self._counts, np.where(self._over, 0, self._counts + 1))
        self._over = terminations | truncations
        self._told.update(f"failed: {failure}" for failure in failures if failure is not None)
        self._told["episodes"] += int(self._over.sum())
        self._told["wrong rows"] += self._wrong(observations, failed)

    def _wrong(self, observations: Any, failed: Any) -> int:
        # The first value counts the steps since the reset: a row that is lost, repeated or another lane's is seen.
        return int(np.sum(~failed & (observations[:, 0] != self._counts)))

    def kept(self) -> int:
        """Steps every lane once more; the number of those without a failure."""
        try:
            failures = self._env.step(self._actions)[4].get("failure", [None] * self.lanes)
        except errors.InfrastructureFailure:
            self._begin_anew()
            return 0
        return sum(failure is None for failure in failures)

    def told(self) -> dict[str, int]:
        """What has come since it was told last: ended episodes, failures by their class, wrong rows."""
        told, self._told = dict(self._told), Counter()
        return told

    def close(self) -> None:
        """Ends the sessions."""
        self._env.close()


if __name__ == "__main__":
    drive(SoakDriver)
