"""Steps of lanes on one thread: lanes are found once for as long as the same request comes, and nothing changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from openenv_gym_protocol.errors import InvalidMessage
from openenv_gym_protocol.vector.frames import Batch, Step
from openenv_gym_server.vector.lane import Member
from openenv_gym_server.vector.lanes import Lanes
from openenv_gym_server.vector.shares import Series, Share
from openenv_gym_server.vector.step_maker import StepMaker

HERE: Any = object()
ELSEWHERE: Any = object()


class CountedLanes(Lanes):
    def __init__(self) -> None:
        super().__init__()
        self.searches = 0

    def _check(self, lanes: Any) -> None:
        self.searches += 1
        super()._check(lanes)


def lanes_of(*members: int, home: Any = HERE, is_many: bool = False) -> CountedLanes:
    """Lanes of environments that have so many each."""
    found = CountedLanes()
    for count in members:
        session: Any = SimpleNamespace(home=home, host=None)
        member = Member(session=session, lanes=tuple(found.numbers(count)), offer=OFFER, is_many=is_many)
        driver: Any = SimpleNamespace(member=member, lane=member.lanes[0])
        found.add(driver)
    return found


OFFER: Any = SimpleNamespace(actions=None, traits=SimpleNamespace(has_arrays=False), partial_steps=True)
MANY: Any = SimpleNamespace(actions=None, traits=SimpleNamespace(has_arrays=True), partial_steps=True)
WHOLE: Any = SimpleNamespace(actions=None, traits=SimpleNamespace(has_arrays=True), partial_steps=False)


def step(*lanes: int) -> Step:
    return Step(id=1, lanes=list(lanes), actions=Batch(values=[{}] * len(lanes)))


def test_lanes_are_found_once_while_the_same_request_comes() -> None:
    lanes, request = lanes_of(1, 1), step(1, 0)
    maker = StepMaker(OFFER, lanes)
    made = [maker.step(request, limit, HERE) for limit in (None, 2.0)]
    shares = [each.share for each in made if each is not None]
    assert [list(share.lanes) for share in shares if isinstance(share, Series)] == [[1, 0], [1, 0]]
    assert shares[0] is not shares[1]
    assert [each.limit for each in made if each is not None] == [None, 2.0]
    assert lanes.searches == 1
    maker.step(step(1, 0), None, HERE)
    assert lanes.searches == 2


def test_a_lane_that_is_closed_or_lost_meanwhile_is_found_no_more() -> None:
    lanes, request = lanes_of(1, 1), step(0, 1)
    maker = StepMaker(OFFER, lanes)
    assert maker.step(request, None, HERE) is not None
    member = next(lanes.members())
    lanes.close(member, member.lanes)
    assert maker.step(request, None, HERE) is None
    lanes.lose(member, "It is gone.")
    assert maker.step(request, None, HERE) is None


@pytest.mark.parametrize("lanes", [(0, 7), (9,)])
def test_lanes_that_were_never_opened_are_refused_each_time(lanes: tuple[int, ...]) -> None:
    maker, request = StepMaker(OFFER, lanes_of(1)), step(*lanes)
    for _ in range(2):
        with pytest.raises(InvalidMessage, match="never opened"):
            maker.step(request, None, HERE)


def test_the_lanes_of_one_environment_are_one_share_in_its_order() -> None:
    lanes, request = lanes_of(3, is_many=True), step(2, 0, 1)
    maker = StepMaker(MANY, lanes)
    made = [maker.step(request, None, HERE) for _ in range(2)]
    shares = [each.share for each in made if each is not None]
    assert [(list(share.lanes), list(share.positions)) for share in shares] == [([0, 1, 2], [1, 2, 0])] * 2
    assert all(isinstance(share, Share) and share.begin() for share in shares), "each has its own claim"
    assert lanes.searches == 1


def test_lanes_of_several_environments_or_of_another_thread_are_not_for_this_one() -> None:
    assert StepMaker(MANY, lanes_of(2, 2, is_many=True)).step(step(0, 1, 2, 3), None, HERE) is None
    assert StepMaker(MANY, lanes_of(2, home=ELSEWHERE, is_many=True)).step(step(0, 1), None, HERE) is None


def test_some_lanes_of_an_environment_that_steps_all_are_refused() -> None:
    maker, request = StepMaker(WHOLE, lanes_of(2, is_many=True)), step(0)
    for _ in range(2):
        with pytest.raises(InvalidMessage, match="can only be stepped together"):
            maker.step(request, None, HERE)
