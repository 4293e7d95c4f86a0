"""What one lane of a vector server does at each step and what its row says of it: the rules, without its environment.

A step of a lane goes like this, whatever its environment is::

    if rules.plan() is Move.RESET:
        observation = environment.reset(seed=next_seed)
        row = rules.reset_in_place(seed=next_seed)
    else:
        observation, reward, terminated, truncated = environment.step(action)
        row = rules.stepped(reward, terminated=terminated, truncated=truncated)
        if row.reset_now:                      # SAME_STEP: the observation above is the final one
            observation = environment.reset(seed=next_seed)
            row = rules.reset_after(row, seed=next_seed)

Nothing is noted of what failed: the lane goes on where it was. A lane whose reset failed after the last step of its
episode resets in its next step.
"""

from __future__ import annotations

from typing import NamedTuple

from openenv_gym_protocol.autoreset import AutoresetMode, EpisodeRules, Move
from openenv_gym_protocol.errors import EpisodeOver, InvalidMessage, nearest
from openenv_gym_protocol.vector.frames import (
    RESET_ROW,
    REWARD_MISSING,
    SEED_APPLIED,
    SEED_UNKNOWN,
    TERMINATED,
    TRUNCATED,
)

_SEED_BITS = SEED_APPLIED | SEED_UNKNOWN


class LaneRow(NamedTuple):
    """What a row says beside its observation and info.

    Attributes:
        reward: The reward, 0.0 where there is none.
        flags: The row's flags; see the bits in ``frames``.
        reset_now: The episode is over and a reset belongs to this same step: the observation is the final one.
    """

    reward: float
    flags: int
    reset_now: bool = False


class LaneRules:
    """The rules of one lane.

    Args:
        mode: What follows the end of an episode.
        max_episode_steps: Steps after which an episode is truncated; None for no limit.
        seed_supported: Whether the environment heeds seeds; None where that is not known.
        seeded_stream: Whether an unseeded reset continues the random stream of the seeded one before it.

    Attributes:
        steps_next: A step of the lane is one of its environment: ``plan`` need not be asked.

    Raises:
        ConfigurationError: ``max_episode_steps`` is less than 1.
    """

    def __init__(
        self,
        mode: AutoresetMode,
        max_episode_steps: int | None = None,
        *,
        seed_supported: bool | None = None,
        seeded_stream: bool | None = None,
    ) -> None:
        self._episode = EpisodeRules(mode, max_episode_steps)
        self._seed_bit = seed_bit(seed_supported)
        self._seeded_stream = bool(seeded_stream)
        self._seed_flags = 0
        self._is_begun = False
        self.steps_next = False

    @property
    def elapsed(self) -> int:
        """Steps of the running episode."""
        return self._episode.elapsed

    @property
    def is_over(self) -> bool:
        """Whether the episode ended and no reset followed."""
        return self._episode.is_over

    def plan(self) -> Move:
        """What a step of this lane is: a step of its environment, or a reset in its place.

        Raises:
            EpisodeOver: The episode is over and autoreset is disabled, or there was none yet.
        """
        if not self._is_begun:
            raise never_begun()
        return self._episode.plan()

    def reset(self, seed: int | None = None) -> LaneRow:
        """Notes a reset that was asked for, after it succeeded.

        Args:
            seed: The seed that the environment was given.
        """
        self._episode.reset()
        self._is_begun = self.steps_next = True
        if seed is not None:
            self._seed_flags = self._seed_bit
        elif not self._seeded_stream:
            self._seed_flags = 0
        return LaneRow(0.0, self._seed_flags)

    def reset_in_place(self, seed: int | None = None) -> LaneRow:
        """Notes a reset that stood in the place of a step, as ``plan`` said."""
        row = self.reset(seed)
        return row._replace(flags=row.flags | RESET_ROW)

    def stepped(self, reward: float | None, *, terminated: bool, truncated: bool) -> LaneRow:
        """Notes a step, after it succeeded.

        Args:
            reward: What the environment gave, None where it gave none.
            terminated: Whether the environment says that the episode is over.
            truncated: Whether it says that the episode was cut off; the time limit is added here.
        """
        flags = self.noted(terminated=terminated, truncated=truncated, is_reward_missing=reward is None)
        return LaneRow(0.0 if reward is None else float(reward), flags, self.resets_now)

    def noted(self, *, terminated: bool, truncated: bool, is_reward_missing: bool) -> int:
        """Does what ``stepped`` does, for who has the reward already.

        Returns:
            The row's flags.
        """
        episode = self._episode
        truncated = episode.noted(terminated=terminated, truncated=truncated)
        if not (episode.is_over or is_reward_missing):
            return self._seed_flags
        self.steps_next = not episode.is_over
        ended = TERMINATED * terminated | TRUNCATED * truncated
        return self._seed_flags | ended | REWARD_MISSING * is_reward_missing

    @property
    def resets_now(self) -> bool:
        """Whether a reset belongs to the step that was noted last: its observation is the final one."""
        return self._episode.resets_now

    def reset_after(self, row: LaneRow, seed: int | None = None) -> LaneRow:
        """Notes the reset that belongs to a step, as ``reset_now`` said.

        Args:
            row: What the step said.
            seed: The seed that the environment was given.

        Returns:
            The row of both: reward and end of the step, and the seed's flags of the episode that runs now.
        """
        return LaneRow(row.reward, self.flags_after(row.flags, seed))

    def flags_after(self, flags: int, seed: int | None = None) -> int:
        """Does what ``reset_after`` does.

        Args:
            flags: Those of the step.
            seed: The seed that the environment was given.

        Returns:
            The flags of the row of both.
        """
        return flags & ~_SEED_BITS | self.reset(seed).flags


def never_begun() -> EpisodeOver:
    """The refusal of a step of a lane that was never reset."""
    return EpisodeOver("No episode has begun: reset the lane before its first step.")


def seed_bit(seed_supported: bool | None) -> int:
    """The flag of an episode that was given a seed.

    Args:
        seed_supported: Whether the environment heeds seeds; None where that is not known.
    """
    if seed_supported is None:
        return SEED_UNKNOWN
    return SEED_APPLIED if seed_supported else 0


def autoreset_mode(name: str) -> AutoresetMode:
    """The mode that ``open`` asked for.

    Raises:
        InvalidMessage: There is none of that name; the message names those that there are.
    """
    try:
        return AutoresetMode(name)
    except ValueError:
        raise InvalidMessage(f"Unknown autoreset mode {name[:100]!r}. {nearest(name, list(AutoresetMode))}") from None
