"""An environment that steps all its lanes at once and none without the others, with faults on command."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from openenv_gym_server import Action, Observation, create_app
from openenv_gym_server.vector_environment import ResetArrays, StepArrays, VectorEnvironment

FINE, NAMED, NAN = range(3)
"""The actions: a step, one whose info has keys that the bridge writes itself, one whose reward is NaN."""

EPISODE = 3
"""The steps of every episode."""


class Push(Action):
    push: int


class Place(Observation):
    place: float


class Together(VectorEnvironment[Push, Place]):
    """Heeds the seeds of resets; its autoresets take none."""

    seed_supported = True
    autoreset_modes = ("NextStep", "SameStep")
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "Discrete", "n": 3},
        "observation": {"type": "Box", "low": 0.0, "high": 1.0, "shape": [], "dtype": "float64"},
    }

    def reset_arrays(self, lanes: Any, seeds: list[int | None], options: dict[str, Any]) -> ResetArrays:
        self._begin(seeds)
        return ResetArrays(observations=self._places.copy())

    def step_arrays(self, actions: Any, lanes: Any) -> StepArrays:
        return self._stepped(actions, [None] * self.num_envs)

    def _begin(self, seeds: list[int | None]) -> None:
        self._taken = 0
        self._places = np.array([np.random.default_rng(seed).random() for seed in seeds])

    def _stepped(self, actions: Any, seeds: list[int | None]) -> StepArrays:
        everyone = np.ones(self.num_envs, bool)
        is_over = self._taken == EPISODE
        self._taken += 1
        if is_over:
            self._begin(seeds)
        ends = self._taken == EPISODE
        told = StepArrays(
            observations=self._places.copy(),
            rewards=np.zeros(self.num_envs) if is_over else np.where(actions == NAN, np.nan, 1.0),
            terminated=everyone & (ends and not is_over),
            truncated=~everyone,
            infos=[{"failure": 5, "failure_message": "said so"} if action == NAMED else {} for action in actions],
            reset_rows=everyone & is_over,
        )
        if ends and self.autoreset == "SameStep":
            told.final_rows = range(self.num_envs)
            told.final_observations = told.observations
            self._begin(seeds)
            told.observations = self._places.copy()
        return told


class Seeded(Together):
    """Heeds the seeds of its autoresets too."""

    def step_arrays(self, actions: Any, lanes: Any, next_seeds: Any = None) -> StepArrays:
        return self._stepped(actions, next_seeds or [None] * self.num_envs)


class Lenient(Together):
    """Its rewards may be NaN."""

    allow_nonfinite_reward = True


app = create_app(Together, Push, Place, env_name="together")
seeded = create_app(Seeded, Push, Place, env_name="seeded")
lenient = create_app(Lenient, Push, Place, env_name="lenient")
