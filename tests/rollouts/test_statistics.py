"""Statistics: only what ended well counts, and what is left out is told."""

from __future__ import annotations

import math

import numpy as np
from openenv_gym_protocol.errors import FailureClass

from openenv_gym.rollouts import Ending, Episode, Failure, Group, Statistics, Step, Summary
from openenv_gym.rollouts.values import first_difference


def episode(*rewards: float | None, ending: Ending = Ending.TERMINATED, member: int = 0, first: int = 0) -> Episode:
    failure = Failure(failure=FailureClass.CAPACITY, error="CapacityReached", message="full", during="reset")
    return Episode(
        member=member,
        was_reset=True,
        first_observation={"place": first, "reward": member, "metadata": {"id": member}},
        steps=[Step(action=0, observation=0, reward=reward) for reward in rewards],
        ending=ending,
        failure=failure if ending is Ending.FAILED else None,
    )


def test_a_summary_is_numpys() -> None:
    values = [1.0, -2.5, 4.0, 4.0]
    summary = Summary.of(values)
    assert summary.count == 4
    np.testing.assert_allclose([summary.mean, summary.std], [np.mean(values), np.std(values)])
    assert (summary.least, summary.most) == (-2.5, 4.0)
    nothing = Summary.of([])
    assert nothing.count == 0
    assert math.isnan(nothing.mean)


def test_what_failed_or_was_interrupted_or_had_no_reward_is_in_no_summary() -> None:
    ended = [
        episode(1.0, None, 2.0),
        episode(5.0, ending=Ending.TRUNCATED),
        episode(100.0, ending=Ending.FAILED),
        episode(None),
        episode(),
    ]
    assert [each.total_reward for each in ended] == [3.0, 5.0, None, None, None]
    assert episode(100.0, ending=Ending.INTERRUPTED).total_reward is None
    statistics = Statistics.of(ended, interrupted=2)
    assert (statistics.episodes, statistics.terminated, statistics.truncated, statistics.failed) == (5, 3, 1, 1)
    assert (statistics.rewards.count, statistics.rewards.mean, statistics.rewards.std) == (2, 4.0, 1.0)
    assert (statistics.without_reward, statistics.interrupted) == (2, 2)
    assert statistics.failures == {FailureClass.CAPACITY: 1}
    assert statistics.steps.count == 4


def test_a_group_compares_what_the_agent_sees() -> None:
    same, other = Group(0, 1, 3), Group(1, 2, 2)
    for member in (2, 0, 1):
        same.add(episode(float(member), member=member))
    for member in range(2):
        other.add(episode(1.0, member=member, first=member))
    assert same.is_complete
    assert same.rewards == [0.0, 1.0, 2.0]
    assert same.differences == []
    assert str(other.differences[0]) == "members 0 and 1 differ at place: 0 and 1"
    statistics = Statistics.of([*same.episodes, *other.episodes], [same, other])
    assert statistics.differing_groups == (1,)
    assert statistics.rewards_by_group[0].mean == 1.0


def test_the_first_difference_of_two_values() -> None:
    nan = float("nan")
    assert first_difference({"a": [1, {"b": nan}]}, {"a": [1.0, {"b": nan}]}) is None
    for expected, found, field in [
        ({"a": 1}, {"a": 1, "b": 2}, "b"),
        ({"a": 1, "b": 2}, {"a": 1}, "b"),
        ([1, 2], [1], "length"),
        ({"a": [[1], [2]]}, {"a": [[1], [3]]}, "a[1][0]"),
        (1, True, ""),
        ("1", 1, ""),
        (None, 0, ""),
    ]:
        difference = first_difference(expected, found)
        assert difference is not None
        assert difference.field == field
