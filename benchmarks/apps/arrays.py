"""The typed environment for all lanes at once: ``step_arrays``, as simulators step that are vectorised themselves."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from openenv_gym_server import create_app
from openenv_gym_server.environment import Execution
from openenv_gym_server.vector_environment import ResetArrays, StepArrays, VectorEnvironment

from benchmarks.apps.kit import EXECUTION, MAX_SESSIONS
from benchmarks.apps.typed import SPACES, ValueAction, ValuesObservation


class ValuesArrays(VectorEnvironment[ValueAction, ValuesObservation]):
    """Counts in every lane."""

    execution: ClassVar[Execution | None] = EXECUTION
    spaces: ClassVar[dict[str, Any] | None] = SPACES

    def reset_arrays(self, lanes: Any, seeds: list[int | None], options: dict[str, Any]) -> ResetArrays:
        """Goes back to zero."""
        self._values = np.tile(np.array([0.0, 0.0, 0.25, -0.5], np.float32), (self.num_envs, 1))
        self._rewards = np.ones(self.num_envs)
        self._never = np.zeros(self.num_envs, bool)
        return ResetArrays(observations=self._values.copy())

    def step_arrays(self, actions: Any, lanes: Any) -> StepArrays:
        """Counts."""
        self._values[:, 0] += 1
        self._values[:, 1] = actions
        return StepArrays(
            observations=self._values.copy(), rewards=self._rewards, terminated=self._never, truncated=self._never
        )


app = create_app(ValuesArrays, ValueAction, ValuesObservation, env_name="arrays", max_concurrent_envs=MAX_SESSIONS)
