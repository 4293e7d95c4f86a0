"""The typed environment with a step that blocks for ten milliseconds, as one that waits for a simulator does."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.apps.kit import MAX_SESSIONS, create_app
from benchmarks.apps.typed import ValueAction, ValuesEnvironment, ValuesObservation

STEP_SECONDS = 0.01


class SlowEnvironment(ValuesEnvironment):
    """Blocks."""

    def step(self, action: ValueAction, timeout_s: float | None = None, **kwargs: Any) -> ValuesObservation:
        """Sleeps, then counts."""
        time.sleep(STEP_SECONDS)
        return super().step(action)


app = create_app(SlowEnvironment, ValueAction, ValuesObservation, env_name="slow", max_concurrent_envs=MAX_SESSIONS)
