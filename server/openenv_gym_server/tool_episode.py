"""What an episode of tool calls has come to."""

from __future__ import annotations

from typing import TypeVar

from openenv_gym_protocol.models import Observation, State
from pydantic import Field

_ObsT = TypeVar("_ObsT", bound=Observation)


class ToolState(State):
    """Where an episode of tool calls stands, for the trainer alone."""

    last_reward: float | None = Field(default=None, description="The reward of the last step")
    episode_return: float = Field(default=0.0, description="The sum of the episode's rewards")
    done: bool = Field(default=False, description="Whether the episode has ended")


class ToolEpisode:
    """Counts the steps of one episode and adds up their rewards.

    Args:
        episode_id: The episode's name; None before the first reset.

    Attributes:
        state: What the trainer is told.
        reward: What a tool set as the reward of the step under way.
        is_over: A tool ended the episode in the step under way.
        is_truncated: By a limit outside the task.
    """

    def __init__(self, episode_id: str | None = None) -> None:
        self.state = ToolState(episode_id=episode_id)
        self.reward: float | None = None
        self.is_over = False
        self.is_truncated = False

    def begin_step(self) -> None:
        """Counts a step, of which nothing is known yet."""
        self.state.step_count += 1
        self.reward, self.is_over, self.is_truncated = None, False, False

    def end(self, reward: float | None, *, is_truncated: bool) -> None:
        """Notes that the step under way is the last."""
        self.is_over, self.is_truncated = True, is_truncated
        if reward is not None:
            self.reward = reward

    def note(self, observation: _ObsT) -> _ObsT:
        """Takes in what a step came to, and returns it."""
        reward = observation.reward
        self.state.last_reward = None if reward is None else float(reward)
        self.state.episode_return += float(reward or 0.0)
        self.state.done = self.state.done or observation.done
        return observation
