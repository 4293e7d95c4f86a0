"""When a lane resets by itself, and when its episode is cut off: the rules, without input or output.

Both ends use them: the client on the standard wire, the server on the vector wire.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from openenv_gym_protocol.errors import ConfigurationError, EpisodeOver


class AutoresetMode(StrEnum):
    """What follows the end of an episode; names and values are Gymnasium's."""

    NEXT_STEP = "NextStep"
    """The next step ignores its action and resets instead."""
    SAME_STEP = "SameStep"
    """The step that ends the episode resets too, and returns the new episode's first observation."""
    DISABLED = "Disabled"
    """Nothing: the caller resets the lane before it steps again."""


class Move(StrEnum):
    """What a lane does when a step is asked of it."""

    STEP = "step"
    RESET = "reset"


class End(NamedTuple):
    """How a step ended."""

    terminated: bool
    truncated: bool
    reset_now: bool
    """Whether a reset belongs to this same step."""


class EpisodeRules:
    """The rules of one lane.

    The owner calls ``reset`` after every reset, ``plan`` before a step and ``stepped`` after it.

    Attributes:
        mode: What follows the end of an episode.
        max_steps: Steps after which an episode is truncated; None for no limit.
        elapsed: Steps of the running episode.
        is_over: Whether the episode ended and no reset followed.
    """

    __slots__ = ("elapsed", "is_over", "max_steps", "mode")

    def __init__(self, mode: AutoresetMode, max_steps: int | None = None) -> None:
        if max_steps is not None and max_steps < 1:
            raise ConfigurationError(f"max_episode_steps must be at least 1, not {max_steps}.")
        self.mode = mode
        self.max_steps = max_steps
        self.elapsed = 0
        self.is_over = False

    def reset(self) -> None:
        """Notes that a new episode begins."""
        self.elapsed = 0
        self.is_over = False

    def plan(self) -> Move:
        """What the lane has to do when a step is asked of it.

        Raises:
            EpisodeOver: The episode is over and autoreset is disabled.
        """
        if not self.is_over:
            return Move.STEP
        if self.mode is AutoresetMode.DISABLED:
            raise EpisodeOver("The episode is over: call reset() before the next step.")
        return Move.RESET

    def stepped(self, *, terminated: bool, truncated: bool) -> End:
        """Notes a step and what the environment said of it.

        Returns:
            The flags to report, the time limit included.
        """
        truncated = self.noted(terminated=terminated, truncated=truncated)
        return End(terminated, truncated, self.resets_now)

    def noted(self, *, terminated: bool, truncated: bool) -> bool:
        """Does what ``stepped`` does.

        Returns:
            Whether the episode was cut off, by the time limit too.
        """
        self.elapsed += 1
        if self.max_steps is not None and self.elapsed >= self.max_steps:
            truncated = True
        self.is_over = terminated or truncated
        return truncated

    @property
    def resets_now(self) -> bool:
        """Whether a reset belongs to the step that was noted last."""
        return self.is_over and self.mode is AutoresetMode.SAME_STEP
