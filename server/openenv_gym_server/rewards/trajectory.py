"""Rubrics that score an episode when it is over, and say what each of its steps was worth."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError, ExecutionError

from openenv_gym_server.rewards.awaiting import abandon
from openenv_gym_server.rewards.rubric import Rubric, Score

Trajectory = list[tuple[Any, Any]]
"""The actions of an episode, each with the observation it led to."""


class TrajectoryRubric(Rubric):
    """Scores whole episodes: each step is remembered, and the one whose observation is ``done`` gets the score.

    The environment's ``reset`` calls ``_reset_rubric()``, which begins another trajectory. A step that ends the episode
    must say so (``done``, ``truncated(observation)``) before the rubric is applied.

    Args:
        intermediate_reward: The reward of the steps before.
    """

    def __init__(self, intermediate_reward: float = 0.0) -> None:
        super().__init__()
        self.intermediate_reward = intermediate_reward
        self._trajectory: Trajectory = []

    @property
    def trajectory(self) -> Trajectory:
        """The episode so far, in a list of the caller's own."""
        return list(self._trajectory)

    def forward(self, action: Any, observation: Any) -> Score:
        """Remembers the step; the score of the episode where it is the last one."""
        self._trajectory.append((action, observation))
        if getattr(observation, "done", False):
            return self.score_trajectory(self._trajectory)
        return self.intermediate_reward

    @abstractmethod
    def score_trajectory(self, trajectory: Trajectory) -> Score:
        """The score of an episode; a plain or a coroutine function."""

    @abstractmethod
    def compute_step_rewards(self) -> list[float]:
        """What each step so far was worth.

        A trainer finds them in the last step's info as ``step_rewards``. Raise ``NotImplementedError`` where there is
        nothing to say.
        """

    def reset(self) -> None:
        """Begins another trajectory."""
        super().reset()
        self._trajectory = []
        self.last_score = None

    def state_dict(self) -> dict[str, Any]:
        """The settings, without the trajectory."""
        return {"intermediate_reward": self.intermediate_reward, **super().state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets them."""
        super().load_state_dict(state)
        self.intermediate_reward = state.get("intermediate_reward", self.intermediate_reward)


class ExponentialDiscountingTrajectoryRubric(TrajectoryRubric):
    """Credits each step with the episode's score times ``gamma`` to the power of its distance from the last one.

    Args:
        gamma: From 0, which credits the last step alone, to 1, which credits all alike.
        intermediate_reward: The reward of the steps before the last.

    Raises:
        ConfigurationError: ``gamma`` is below 0 or above 1.
    """

    def __init__(self, gamma: float = 0.99, intermediate_reward: float = 0.0) -> None:
        super().__init__(intermediate_reward)
        self.gamma = _fraction(gamma)

    def compute_step_rewards(self) -> list[float]:
        """One reward a step.

        Raises:
            ExecutionError: The episode is not over, and its score would have to be awaited.
        """
        steps = len(self._trajectory)
        if not steps:
            return []
        score = self._score()
        return [score * self.gamma ** (steps - 1 - at) for at in range(steps)]

    def _score(self) -> float:
        if self.last_score is not None and getattr(self._trajectory[-1][1], "done", False):
            return self.last_score  # it was scored when it ended
        score = self.score_trajectory(self._trajectory)
        if inspect.isawaitable(score):
            abandon([score])
            raise ExecutionError("The score of an episode that is not over has to be awaited; ask after its last step.")
        return float(score)

    def state_dict(self) -> dict[str, Any]:
        """The settings, without the trajectory."""
        return {"gamma": self.gamma, **super().state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets them.

        Raises:
            ConfigurationError: As for the constructor.
        """
        gamma = _fraction(state.get("gamma", self.gamma))
        super().load_state_dict(state)
        self.gamma = gamma


def _fraction(gamma: float) -> float:
    if not 0.0 <= gamma <= 1.0:
        raise ConfigurationError(f"gamma must be from 0 to 1, not {gamma}.")
    return gamma
