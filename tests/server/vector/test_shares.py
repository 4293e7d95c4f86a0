from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from openenv_gym_server.vector.shares import Series, Share


def member(lane: int, *, at_work: bool = False) -> Any:
    host = SimpleNamespace(activity="step" if at_work else None)
    return SimpleNamespace(lanes=(lane,), session=SimpleNamespace(host=host))


def series(*members: Any) -> Series:
    drivers: list[Any] = [SimpleNamespace(member=each, lane=each.lanes[0]) for each in members]
    return Series(drivers, range(len(drivers)))


def test_lanes_are_claimed_in_their_order_and_once() -> None:
    some = series(member(5), member(6))
    assert list(some.claims()) == [0, 1]
    assert list(some.claims()) == []
    assert list(some.drop()) == []
    assert not some.is_settled


def test_what_has_begun_is_not_dropped_with_the_rest() -> None:
    some = series(member(5), member(6), member(7))
    claims = some.claims()
    assert next(claims) == 0
    assert list(some.drop()) == [6, 7]
    assert list(claims) == []
    assert (some.settled, some.is_settled) == ({6, 7}, False)


def test_a_series_of_which_nothing_has_begun_is_settled_when_it_is_dropped() -> None:
    some = series(member(5), member(6))
    assert list(some.drop()) == [5, 6]
    assert some.is_settled


def test_a_lost_lane_is_told_once_whether_it_has_begun_or_not() -> None:
    first, second = member(5), member(6)
    some = series(first, second)
    assert next(some.claims()) == 0
    assert (list(some.lose(first)), list(some.lose(first))) == ([5], [])
    assert list(some.lose(second)) == [6]
    assert some.is_settled


def test_the_lane_that_runs_just_now_is_found() -> None:
    late = member(6, at_work=True)
    assert series(member(5), late, member(7)).at_work is late
    assert series(member(5)).at_work is None


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_share_is_dropped_as_a_whole_unless_it_has_begun(has_begun: bool) -> None:
    share = Share(member(5), [5], [0])
    if has_begun:
        assert share.begin()
    assert list(share.drop()) == ([] if has_begun else [5])
    assert share.is_settled is not has_begun
    assert not share.begin()


def test_a_share_is_lost_with_its_own_member_only() -> None:
    share = Share(member(5), [5], [0])
    assert list(share.lose(member(6))) == []
    assert list(share.lose(share.member)) == [5]
    assert not share.begin()
