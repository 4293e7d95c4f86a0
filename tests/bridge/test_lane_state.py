"""What is remembered of lanes: plain steps are counted in columns, all others lane by lane, and both together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.bodies import Seeding
from openenv_gym_protocol.errors import EpisodeOver

from openenv_gym.bridge.lane_sets import all_lanes, lane_set
from openenv_gym.bridge.lane_state import LaneStates, Phase, lanes_over
from openenv_gym.bridge.rows import PlainRows

BOTH = all_lanes(2)


def begun(mode: AutoresetMode = AutoresetMode.NEXT_STEP, max_steps: int | None = None) -> LaneStates:
    states = LaneStates(2, mode, max_steps)
    for lane in range(2):
        states.begin(lane)
    return states


def plain_steps(*others: int) -> PlainRows:
    bits = sum(1 << lane for lane in others)
    return PlainRows(BOTH, bits, np.zeros(2), np.zeros(2, np.int64), np.zeros(2, np.bool_))


def before_the_limit(states: LaneStates) -> Any:
    are = states.are_before_the_limit(BOTH)
    return None if are is None else are.tolist()


def test_no_lane_runs_before_the_first_reset() -> None:
    assert LaneStates(2, AutoresetMode.NEXT_STEP, None).phases.tolist() == [Phase.NONE, Phase.NONE]
    assert begun().phases.tolist() == [Phase.RUNNING, Phase.RUNNING]


def test_plain_steps_and_others_count_towards_one_limit() -> None:
    states = begun(max_steps=3)
    states.stepped_plainly(plain_steps())
    assert not states.stepped(1, terminated=False, truncated=False).truncated
    assert before_the_limit(states) == [True, False]
    states.stepped_plainly(plain_steps(1))
    assert before_the_limit(states) == [False, False]
    assert [states.stepped(lane, terminated=False, truncated=False).truncated for lane in range(2)] == [True, True]
    states.begin(0)
    assert before_the_limit(states) == [True, False]
    assert before_the_limit(begun()) is None


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("happened", ["", "in doubt", "must reset", "episode id"])
def test_a_lane_with_anything_to_settle_is_in_no_phase(happened: str, is_over: bool) -> None:
    states = begun()
    before = states.version
    states[1].rules.is_over = is_over
    states[1].is_in_doubt = happened == "in doubt"
    states[1].must_reset = happened == "must reset"
    states[1].reader.episode_id = "e" if happened == "episode id" else None
    states.note(1)
    expected = Phase.OVER if is_over else Phase.RUNNING
    assert states.phases.tolist() == [Phase.RUNNING, Phase.NONE if happened else expected]
    assert states.over == (0b10 if is_over else 0)
    assert states.version != before


def test_episodes_that_end_and_begin_in_plain_rows_are_as_those_in_others() -> None:
    states, others = begun(max_steps=9), begun(max_steps=9)
    for each in (states, others):
        for lane, state in enumerate(each):
            state.seed(lane)
        each.next_seeds(BOTH, ())
    before = states.version
    states.stepped_plainly(plain_steps()._replace(terminated=0b01))
    others.stepped_plainly(plain_steps(0))
    others.stepped(0, terminated=True, truncated=False)
    assert (states.over, states.phases.tolist()) == (others.over, others.phases.tolist()) == (0b01, [2, 1])
    assert states.version != before
    for each in (states, others):
        each.next_seeds(BOTH, lanes_over(each, BOTH))
    states.stepped_plainly(plain_steps()._replace(begun=0b01))
    others.stepped_plainly(plain_steps(0))
    others.begin(0)
    assert (states.over, states.phases.tolist()) == (others.over, others.phases.tolist()) == (0, [1, 1])
    assert dict(states.next_seeds(BOTH, ())) == dict(others.next_seeds(BOTH, ()))
    assert states.stepped(0, terminated=False, truncated=False) == others.stepped(0, terminated=False, truncated=False)
    assert states[0].rules.elapsed == 1


def test_lanes_whose_episodes_are_over_are_named_where_nothing_resets_them() -> None:
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED):
        states = begun(mode)
        assert lanes_over(states, BOTH) == []
        states.stepped(1, terminated=True, truncated=False)
        assert lanes_over(states, lane_set([0], 2)) == []
        if mode is AutoresetMode.NEXT_STEP:
            assert lanes_over(states, BOTH) == [1]
        else:
            with pytest.raises(EpisodeOver, match="lane 1 is over") as caught:
                lanes_over(states, BOTH)
            assert caught.value.lane == 1


def test_seeds_sent_ahead_are_the_same_until_they_are_used() -> None:
    states = begun()
    for lane, state in enumerate(states):
        state.seed(lane)
    first = dict(states.next_seeds(BOTH, ()))
    assert sorted(first) == [0, 1]
    assert dict(states.next_seeds(BOTH, ())) == first
    assert dict(states.next_seeds(lane_set([1], 2), ())) == {1: first[1]}
    used = dict(states.next_seeds(BOTH, [1]))
    assert used == first, "the lane that resets in this step does so with what was sent ahead"
    states.begin(1)
    later = dict(states.next_seeds(BOTH, ()))
    assert later[0] == first[0]
    assert later[1] != first[1]


def test_no_seeds_are_sent_ahead_where_nothing_resets_by_itself_or_no_seed_is_drawn() -> None:
    assert begun(AutoresetMode.DISABLED).next_seeds(BOTH, ()) == {}
    states = begun()
    for state in states:
        state.reader.seeds.seeding = Seeding(seeded_stream=True)
    assert states.next_seeds(BOTH, [0]) == {}
    states[1].reader.seeds.seeding = Seeding()
    states[1].was_reset()
    states.begin(1)
    assert list(states.next_seeds(BOTH, ())) == [1]
