"""What is kept of an episode: what was sent, what came back, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from openenv_gym_protocol.errors import FailureClass, OpenEnvGymError

Phase: TypeAlias = Literal["reset", "policy", "step"]
"""What was under way when an episode failed: the environment's reset or step, or the policy."""


class Ending(StrEnum):
    """How an episode ended."""

    TERMINATED = "terminated"
    TRUNCATED = "truncated"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step.

    Attributes:
        action: What was sent.
        observation: What the agent saw then.
        reward: The step's reward; None where the server sent none.
        terminated: Whether the environment's own rules ended the episode.
        truncated: Whether something else did, such as a limit of steps.
        metadata: What the server told beside the observation.
        policy_data: What the policy wants kept with its action, such as tokens and log-probabilities.
    """

    action: Any
    observation: Any
    reward: float | None = None
    terminated: bool = False
    truncated: bool = False
    metadata: Mapping[str, Any] | None = None
    policy_data: Any = None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why an episode has no result.

    Attributes:
        failure: The failure class.
        error: The name of the exception's class.
        message: The exception's text.
        during: What was under way.
        action: The action that nothing answered; None where none was under way.
    """

    failure: FailureClass
    error: str
    message: str
    during: Phase
    action: Any = None

    @classmethod
    def of(cls, error: OpenEnvGymError, during: Phase, action: Any = None) -> Failure:
        """The failure that an exception stands for."""
        return cls(
            failure=error.failure, error=type(error).__name__, message=error.message, during=during, action=action
        )


@dataclass(kw_only=True)
class Episode:
    """An episode, filled in while it is played: what is there when it fails or is interrupted stays there.

    Attributes:
        number: Its place in the run, counted from 0.
        group: The group it belongs to, counted from 0: all members begin with the same reset.
        member: Its place in the group, counted from 0.
        seed: What its reset was seeded with.
        options: The reset's other options.
        attempt: 1, or more where earlier attempts failed and were tried again.
        earlier: Those attempts.
        first_observation: What its reset returned.
        reset_reward: The reward that came with the reset, which counts for nothing; None where there was none.
        reset_metadata: What the server told beside the first observation.
        was_reset: Whether the reset was answered.
        steps: Its steps, in order.
        ending: How it ended; None while it is played.
        failure: Why it failed; None where it did not.
        seconds: How long it took.
    """

    number: int = 0
    group: int = 0
    member: int = 0
    seed: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    attempt: int = 1
    earlier: list[Episode] = field(default_factory=list)
    first_observation: Any = None
    reset_reward: float | None = None
    reset_metadata: Mapping[str, Any] | None = None
    was_reset: bool = False
    steps: list[Step] = field(default_factory=list)
    ending: Ending | None = None
    failure: Failure | None = None
    seconds: float = 0.0

    @property
    def is_finished(self) -> bool:
        """Whether it came to an end of its own, so that its rewards count."""
        return self.ending in (Ending.TERMINATED, Ending.TRUNCATED)

    @property
    def total_reward(self) -> float | None:
        """The sum of the steps' rewards.

        None for an episode that failed or was interrupted, and for one in which no step had a reward: a reward is
        never made up.
        """
        rewards = [step.reward for step in self.steps if step.reward is not None]
        return float(sum(rewards)) if self.is_finished and rewards else None

    @property
    def last_observation(self) -> Any:
        """What the agent saw last."""
        return self.steps[-1].observation if self.steps else self.first_observation

    def fail(self, failure: Failure) -> None:
        """Notes that it failed."""
        self.ending, self.failure = Ending.FAILED, failure
