"""Many lanes in arrays, whose random numbers are the caller's to seed, and which does wrong on command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from openenv_gym_server import Action, Observation, create_app
from openenv_gym_server.vector_environment import ResetArrays, StepArrays, VectorEnvironment

UNSEEDED = -1.0
"""The observation of an episode that was given no seed; otherwise the seed."""

STEP, END, NUMBER_KEY, TWICE, BEFORE, BEHIND, NO_ROW, NO_REWARD, RUNNING, REWARD, SILENT, SHORT = range(12)
"""The actions. From TWICE on, what the first lane does goes for all."""


class Push(Action):
    push: int


class Place(Observation):
    place: float


class Pushes(VectorEnvironment[Push, Place]):
    """Resets a lane in the step after END, or in that step, without a seed."""

    seed_supported = True
    autoreset_modes = ("NextStep", "SameStep")
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "Discrete", "n": 12},
        "observation": {"type": "Box", "low": -1, "high": 1e9, "shape": [], "dtype": "float64"},
    }
    remote_names = ("goal", "goal_of_all", "steps")

    def __init__(self, num_envs: int = 1, *, autoreset: str = "NextStep", max_episode_steps: int | None = None) -> None:
        super().__init__(num_envs, autoreset=autoreset, max_episode_steps=max_episode_steps)
        self.goal = list(range(num_envs))
        self.steps = 0
        self._place = np.full(num_envs, UNSEEDED)
        self._over = np.zeros(num_envs, bool)

    def goal_of_all(self) -> list[int]:
        return [10 * number for number in self.goal]

    def reset_arrays(self, lanes: Any, seeds: list[int | None], options: dict[str, Any]) -> ResetArrays:
        self._begin(lanes, seeds)
        return ResetArrays(observations=self._place[lanes])

    def step_arrays(self, actions: Any, lanes: Any) -> StepArrays:
        return self._stepped(actions, lanes, [None] * len(lanes))

    def _begin(self, lanes: Any, seeds: list[int | None]) -> None:
        self._place[lanes] = [UNSEEDED if seed is None else seed for seed in seeds]
        self._over[lanes] = False

    def _stepped(self, actions: Any, lanes: Any, seeds: list[int | None]) -> StepArrays:
        self.steps += 1
        resets = self._over[lanes]
        ended = (actions == END) & ~resets
        final = self._place[lanes]
        begun = ended if self.autoreset == "SameStep" else resets
        self._begin(lanes[begun], [seed for seed, is_begun in zip(seeds, begun, strict=True) if is_begun])
        self._over[lanes[ended & ~begun]] = True
        told = StepArrays(
            observations=self._place[lanes],
            rewards=np.where(resets, 0.0, 1.0),
            terminated=ended,
            truncated=np.zeros(len(lanes), bool),
            infos=[{5: "five"} if action == NUMBER_KEY else {} for action in actions],  # type: ignore[dict-item]
            reset_rows=None if self.autoreset == "SameStep" else resets,
        )
        if self.autoreset == "SameStep" and ended.any():
            told.final_rows = np.flatnonzero(ended).tolist()
            told.final_observations = final[ended]
        wrong = _WRONG.get(int(actions[0]))
        return told if wrong is None else wrong(told)


class SeededPushes(Pushes):
    """Takes the seeds of the resets that it makes by itself."""

    def step_arrays(self, actions: Any, lanes: Any, next_seeds: list[int | None]) -> StepArrays:  # type: ignore[override]
        return self._stepped(actions, lanes, next_seeds)


class ApartPushes(Pushes):
    """Steps some lanes without the others."""

    partial_steps = True
    partial_resets = True


def _finals(*rows: Any) -> Callable[[StepArrays], StepArrays]:
    def wrong(told: StepArrays) -> StepArrays:
        told.final_rows = rows
        told.final_observations = np.zeros(len(rows))
        return told

    return wrong


def _without_rewards(told: StepArrays) -> StepArrays:
    told.rewards = ["a lot"] * len(told.rewards)
    return told


def _with_rewards(told: StepArrays) -> StepArrays:
    told.rewards = np.ones(len(told.rewards))
    return told


def _without_resets(told: StepArrays) -> StepArrays:
    told.reset_rows = None
    return told


def _short(told: StepArrays) -> StepArrays:
    told.truncated = told.truncated[:1]
    return told


_WRONG: dict[int, Callable[[StepArrays], StepArrays]] = {
    TWICE: _finals(0, 0),
    BEFORE: _finals(-1),
    BEHIND: _finals(7),
    NO_ROW: _finals("first"),
    RUNNING: _finals(1),
    REWARD: _with_rewards,
    NO_REWARD: _without_rewards,
    SILENT: _without_resets,
    SHORT: _short,
}

pushes = create_app(Pushes, Push, Place, env_name="pushes")
seeded = create_app(SeededPushes, Push, Place, env_name="pushes")
apart = create_app(ApartPushes, Push, Place, env_name="pushes")
