"""What lanes reported is taken once, in the order that is asked for, and nothing of it changes afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from openenv_gym.bridge.lane_sets import lane_set
from openenv_gym.bridge.results import Results
from openenv_gym.bridge.rows import PlainRows, Result

ENDED = Result(5.0, terminated=True, truncated=False, info={"seed_applied": 1, "reward_missing": False, "n": 3})


def plain(count: int, lanes: list[int], rewards: list[float], others: int = 0) -> PlainRows:
    rows = len(lanes)
    chosen = lane_set(lanes, count)
    return PlainRows(chosen, others, np.array(rewards), np.full(rows, -1), np.zeros(rows, np.bool_))


def test_plain_and_single_results_stand_in_the_order_of_the_lanes() -> None:
    results = Results(4)
    results.add_plain(plain(4, [3, 2, 0], [3.0, 9.0, 0.5], others=0b100))
    results.add(2, ENDED)
    assert results.lanes == [0, 2, 3]
    batch = results.take([0, 2, 3])
    assert batch.rewards.tolist() == [0.5, 5.0, 3.0]
    assert batch.terminations.tolist() == [False, True, False]
    assert batch.infos["seed_applied"].tolist() == [-1, 1, -1]
    assert batch.infos["_n"].tolist() == [False, True, False]
    assert results.lanes == []


def test_ends_of_plain_results_stand_in_their_rows_and_are_taken_once() -> None:
    results = Results(4)
    results.add_plain(plain(4, [3, 2, 0], [3.0, 9.0, 0.5])._replace(terminated=0b1001, truncated=0b0100))
    batch = results.take([3, 2])
    assert (batch.terminations.tolist(), batch.truncations.tolist()) == ([True, False], [False, True])
    batch = results.take([0])
    assert (batch.terminations.tolist(), batch.truncations.tolist()) == ([True], [False])
    results.add_plain(plain(4, [0, 1, 2, 3], [1.0] * 4)._replace(truncated=0b0001))
    batch = results.take([0, 1, 2, 3])
    assert not batch.terminations.any()
    assert batch.truncations.tolist() == [True, False, False, False]
    results.add_plain(plain(4, [0], [1.0])._replace(terminated=0b0001))
    results.clear()
    results.add_plain(plain(4, [0], [1.0]))
    assert not results.take([0]).terminations.any()


def test_what_was_taken_stays_as_it_is() -> None:
    results = Results(2)
    results.add_plain(plain(2, [0, 1], [1.0, 2.0]))
    taken = results.take([0, 1])
    results.add_plain(plain(2, [0, 1], [3.0, 4.0]))
    assert taken.rewards.tolist() == [1.0, 2.0]
    assert results.take([1]).rewards.tolist() == [4.0]
    assert results.lanes == [0]


def test_a_plain_result_follows_a_single_one_of_the_same_lane() -> None:
    results = Results(1)
    results.add(0, ENDED)
    results.take([0])
    results.add_plain(plain(1, [0], [1.0]))
    batch = results.take([0])
    assert (batch.rewards.tolist(), batch.terminations.tolist()) == ([1.0], [False])
    assert "n" not in batch.infos


def test_a_reset_is_taken_as_a_whole_and_what_is_forgotten_is_gone() -> None:
    results = Results(2)
    results.add(1, ENDED)
    assert results.pop(1) is ENDED
    results.add(0, ENDED)
    results.clear()
    assert results.lanes == []
    with pytest.raises(KeyError):
        results.pop(0)


def test_nothing_is_taken_of_no_lanes() -> None:
    batch = Results(2).take([])
    assert (batch.rewards.shape, batch.infos) == ((0,), {})
