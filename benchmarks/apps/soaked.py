"""The typed environment with episodes of some dozen steps, some of which fail."""

from __future__ import annotations

import os
import random
from typing import Any

from benchmarks.apps.kit import create_app
from benchmarks.apps.typed import ValueAction, ValuesEnvironment, ValuesObservation

MEAN_STEPS = 40
FAILING_SHARE = 0.001
"""Of the steps."""


class SoakedEnvironment(ValuesEnvironment):
    """Ends and fails at random."""

    def __init__(self) -> None:
        super().__init__()
        self._random = random.Random()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> ValuesObservation:
        """Goes back to zero."""
        if seed is not None:
            self._random.seed(seed)
        return super().reset()

    def step(self, action: ValueAction, timeout_s: float | None = None, **kwargs: Any) -> ValuesObservation:
        """Counts, if it does not fail.

        Raises:
            RuntimeError: One of the steps that fail.
        """
        if self._random.random() < FAILING_SHARE:
            raise RuntimeError("one of the steps that fail")
        observation = super().step(action)
        observation.done = self._random.random() < 1 / MEAN_STEPS
        return observation


app = create_app(
    SoakedEnvironment,
    ValueAction,
    ValuesObservation,
    env_name="soaked",
    max_concurrent_envs=int(os.environ.get("BENCHMARK_SESSIONS", "1")),
)
