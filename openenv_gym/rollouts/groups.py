"""Episodes that begin with the same reset: what group-relative methods compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from openenv_gym.rollouts.episodes import Episode
from openenv_gym.rollouts.values import Difference, first_difference, seen


@dataclass(frozen=True)
class MemberDifference:
    """That a member of a group did not begin as the others did.

    Attributes:
        member: The member.
        compared_with: The member that it was compared with.
        difference: Where their first observations differ first.
    """

    member: int
    compared_with: int
    difference: Difference

    def __str__(self) -> str:
        return f"members {self.compared_with} and {self.member} differ at {self.difference}"


@dataclass
class Group:
    """The episodes of one reset.

    Attributes:
        number: Its place in the run, counted from 0.
        seed: What its resets are seeded with.
        size: How many episodes it has in all.
        episodes: Those that have ended so far, by their place in the group.
        differences: The members that began with another observation than the first of them to end did. A seed that
            the environment ignores, or randomness of another source, shows here: such a group compares episodes of
            different problems. Members without a first observation are left out.
    """

    number: int
    seed: int | None
    size: int
    episodes: list[Episode] = field(default_factory=list)
    differences: list[MemberDifference] = field(default_factory=list)
    _began: tuple[int, Any] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all its episodes have ended."""
        return len(self.episodes) == self.size

    @property
    def rewards(self) -> list[float | None]:
        """The total reward of each episode that has ended; None for one without."""
        return [episode.total_reward for episode in self.episodes]

    def add(self, episode: Episode) -> None:
        """Takes an episode that has ended."""
        self.episodes.append(episode)
        self.episodes.sort(key=lambda each: each.member)
        if episode.was_reset and self.size > 1:
            self._compare(episode.member, seen(episode.first_observation))

    def _compare(self, member: int, found: Any) -> None:
        if self._began is None:
            self._began = (member, found)
            return
        compared_with, expected = self._began
        difference = first_difference(expected, found)
        if difference is not None:
            self.differences.append(MemberDifference(member, compared_with, difference))
