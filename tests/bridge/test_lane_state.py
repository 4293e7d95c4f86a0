"""What is remembered of lanes: plain steps are counted in columns, all others lane by lane, and both together."""

from __future__ import annotations

import numpy as np
import pytest
from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.errors import EpisodeOver

from openenv_gym.bridge.lane_state import LaneStates, lanes_over

BOTH = np.array([0, 1])


def begun(mode: AutoresetMode = AutoresetMode.NEXT_STEP, max_steps: int | None = None) -> LaneStates:
    states = LaneStates(2, mode, max_steps)
    for lane in range(2):
        states.begin(lane)
        states.note(lane)
    return states


def test_no_step_is_plain_before_the_first_reset() -> None:
    assert LaneStates(2, AutoresetMode.NEXT_STEP, None).are_plain(BOTH).tolist() == [False, False]
    assert begun().are_plain(BOTH).tolist() == [True, True]


def test_plain_steps_and_others_count_towards_one_limit() -> None:
    states = begun(max_steps=3)
    states.stepped_plainly([0, 1])
    assert not states.stepped(1, terminated=False, truncated=False).truncated
    assert states.are_plain(BOTH).tolist() == [True, False]
    states.stepped_plainly([0])
    assert states.are_plain(BOTH).tolist() == [False, False]
    assert [states.stepped(lane, terminated=False, truncated=False).truncated for lane in range(2)] == [True, True]
    states.begin(0)
    states.note(0)
    assert states.are_plain(BOTH[:1]).tolist() == [True]


@pytest.mark.parametrize("happened", ["over", "in doubt", "episode id"])
def test_a_step_of_a_lane_with_anything_to_settle_is_not_plain(happened: str) -> None:
    states = begun()
    states[1].rules.is_over = happened == "over"
    states[1].is_in_doubt = happened == "in doubt"
    states[1].reader.episode_id = "e" if happened == "episode id" else None
    states.note(1)
    assert states.are_plain(BOTH).tolist() == [True, False]


def test_lanes_whose_episodes_are_over_are_named_where_nothing_resets_them() -> None:
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED):
        states = begun(mode)
        assert lanes_over(states, range(2)) == []
        states.stepped(1, terminated=True, truncated=False)
        if mode is AutoresetMode.NEXT_STEP:
            assert lanes_over(states, range(2)) == [1]
        else:
            with pytest.raises(EpisodeOver, match="lane 1 is over") as caught:
                lanes_over(states, range(2))
            assert caught.value.lane == 1
