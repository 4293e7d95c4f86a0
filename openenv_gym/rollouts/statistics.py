"""Numbers of a run. Rewards are those of episodes that came to an end of their own, and of no others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, pstdev

from openenv_gym_protocol.errors import FailureClass

from openenv_gym.rollouts.episodes import Ending, Episode
from openenv_gym.rollouts.groups import Group


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Numbers in brief; all but the count are NaN where there are none.

    Attributes:
        count: How many there are.
        mean: Their mean.
        std: Their standard deviation, divided by the count, as numpy's ``std``.
        least: The least.
        most: The greatest.
    """

    count: int
    mean: float
    std: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Summary:
        """The summary of some numbers."""
        found = list(values)
        if not found:
            return cls(count=0, mean=math.nan, std=math.nan, least=math.nan, most=math.nan)
        return cls(count=len(found), mean=fmean(found), std=pstdev(found), least=min(found), most=max(found))


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What became of a run's episodes.

    Attributes:
        episodes: How many ended: terminated, truncated or failed.
        terminated: How many by the environment's own rules.
        truncated: How many by a limit of steps or of the environment's.
        failed: How many failed. They count in none of the summaries.
        interrupted: How many were under way when the run was ended.
        rewards: The total rewards.
        steps: The numbers of steps.
        seconds: How long they took, the policy included.
        without_reward: How many ended well and had no reward at all: they are not in ``rewards``.
        rewards_by_group: The total rewards of each group.
        failures: How many episodes failed, by failure class.
        retries: How many attempts failed and were tried again, by failure class.
        differing_groups: The groups whose members did not begin alike.
    """

    episodes: int
    terminated: int
    truncated: int
    failed: int
    interrupted: int
    rewards: Summary
    steps: Summary
    seconds: Summary
    without_reward: int
    rewards_by_group: Mapping[int, Summary]
    failures: Mapping[FailureClass, int]
    retries: Mapping[FailureClass, int]
    differing_groups: tuple[int, ...]

    @classmethod
    def of(cls, episodes: Iterable[Episode], groups: Iterable[Group] = (), interrupted: int = 0) -> Statistics:
        """The statistics of some episodes.

        Args:
            episodes: Those that ended.
            groups: Their groups.
            interrupted: How many were interrupted.
        """
        ended, known = list(episodes), list(groups)
        finished = [episode for episode in ended if episode.is_finished]
        endings = Counter(episode.ending for episode in ended)
        return cls(
            episodes=len(ended),
            terminated=endings[Ending.TERMINATED],
            truncated=endings[Ending.TRUNCATED],
            failed=endings[Ending.FAILED],
            interrupted=interrupted,
            rewards=Summary.of(_rewards(finished)),
            steps=Summary.of(len(episode.steps) for episode in finished),
            seconds=Summary.of(episode.seconds for episode in finished),
            without_reward=sum(episode.total_reward is None for episode in finished),
            rewards_by_group={group.number: Summary.of(_rewards(group.episodes)) for group in known},
            failures=_classes(ended),
            retries=_classes(attempt for episode in ended for attempt in episode.earlier),
            differing_groups=tuple(group.number for group in known if group.differences),
        )


def _rewards(episodes: Iterable[Episode]) -> list[float]:
    return [episode.total_reward for episode in episodes if episode.total_reward is not None]


def _classes(episodes: Iterable[Episode]) -> dict[FailureClass, int]:
    return dict(Counter(episode.failure.failure for episode in episodes if episode.failure is not None))
