"""Replies that are read together say what each says alone, whether they are told apart as plain or not."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.bodies import Schemas, Seeding
from openenv_gym_protocol.errors import ExecutionError, OpenEnvGymError
from openenv_gym_protocol.messages import ObservationReply, StateReply

from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_sets import lanes_in
from openenv_gym.bridge.lane_state import LaneState, LaneStates
from openenv_gym.bridge.lanes.answers import Answer
from openenv_gym.bridge.lanes.standard_rows import read_rows

INTERFACE = Interface(
    Schemas.model_validate(
        {
            "action": {"type": "object", "properties": {"move": {"type": "boolean"}}},
            "observation": {
                "type": "object",
                "properties": {"level": {"type": "number", "minimum": 0, "maximum": 9}, "done": {}, "reward": {}},
            },
        }
    )
)

usual: dict[str, Any] = {"observation": {"level": 0.5}, "reward": 1.0, "done": False}
unusual = st.fixed_dictionaries(
    {
        "observation": st.sampled_from([{"level": 3}, {"level": 10}, {"level": 1, "metadata": {"x": 1}}, {}]),
        "reward": st.sampled_from([None, True, 3, -2.5, math.nan, math.inf, 10**400]),
        "done": st.booleans(),
        "metadata": st.sampled_from([None, {}, {"truncated": True}, {"episode_id": "e"}, {"n": 1}]),
    }
)
almost_usual = st.builds(
    lambda key, data: {**usual, key: data[key]}, st.sampled_from(["observation", "reward", "done", "metadata"]), unusual
)
replies = st.lists(
    st.tuples(st.sampled_from(["step", "step", "step", "reset"]), st.just(usual) | almost_usual | unusual),
    min_size=2,
    max_size=6,
)


@st.composite
def states(draw: st.DrawFn, count: int) -> LaneStates:
    """What is remembered of lanes at any moment."""
    kept = LaneStates(count, AutoresetMode.NEXT_STEP, draw(st.sampled_from([None, 3])))
    for lane, state in enumerate(kept):
        for _ in range(draw(st.integers(0, 2))):
            kept.stepped(lane, terminated=False, truncated=False)
        state.reader.seeds.seeding = Seeding(seed_supported=True)
        if draw(st.booleans()):
            state.reader.seeds.applied = draw(st.sampled_from([0, 1]))
            state.reader.episode_id = draw(st.sampled_from([None, "e"]))
            state.is_in_doubt = draw(st.booleans())
        kept.note(lane)
    return kept


def read_together(asked: list[tuple[str, dict[str, Any]]], kept: LaneStates) -> tuple[dict[int, Any], list[int]]:
    """What is read of each lane, and the lanes that were plain. The answers come in the opposite order."""
    answers = [Answer(None, call, (lane,), ObservationReply(data)) for lane, (call, data) in enumerate(asked)]
    found = read_rows(INTERFACE, answers[::-1], kept)
    observed = found.lanes if found.observed is None else found.observed
    values = found.values if found.leaves is None else found.leaves[()]
    seen = {lane: float(np.squeeze(value)) for lane, value in zip(observed, values, strict=True)}
    said: dict[int, Any] = {lane: (type(error), error.message) for lane, error in found.errors.items()}
    for lane, result in zip(found.lanes, found.results, strict=True):
        said[lane] = (seen[lane], result.reward, result.terminated, result.truncated, result.info)
        assert result.is_reset == (asked[lane][0] == "reset")
    plain = [] if found.plain is None else lanes_in(found.plain.bits)
    for lane in plain:
        assert found.plain is not None
        row = found.plain.chosen.lanes.index(lane)
        info = {"seed_applied": found.plain.seed_applied[row], "reward_missing": found.plain.reward_missing[row]}
        said[lane] = (seen[lane], found.plain.rewards[row], False, False, info)
        assert asked[lane][0] == "step"
        assert kept[lane].rules.max_steps is None or kept[lane].rules.elapsed + 1 < 3
    assert sorted(said) == list(range(len(asked)))
    return said, plain


def read_alone(call: str, data: dict[str, Any], state: LaneState) -> Any:
    """What is read of a lane by itself."""
    try:
        row = state.reader.read(INTERFACE, ObservationReply(data), is_reset=call == "reset")
    except OpenEnvGymError as error:
        return type(error), error.message
    return (float(np.squeeze(row.observation)), *row[1:])


@settings(max_examples=300, deadline=None)
@given(st.data(), replies)
def test_replies_together_say_what_each_says_alone(
    data: st.DataObject, asked: list[tuple[str, dict[str, Any]]]
) -> None:
    kept = data.draw(states(len(asked)))
    alone_kept = copy.deepcopy(kept)
    together, _ = read_together(asked, kept)
    assert together == {lane: read_alone(*each, alone_kept[lane]) for lane, each in enumerate(asked)}
    assert [s.reader.episode_id for s in kept] == [s.reader.episode_id for s in alone_kept]


@pytest.mark.parametrize(
    ("another", "plain"),
    [
        ({**usual, "reward": None}, [0, 1, 2]),
        ({**usual, "reward": 2, "metadata": {}}, [0, 1, 2]),
        ({**usual, "done": True}, [0, 2]),
        ({**usual, "metadata": {"n": 1}}, [0, 2]),
        ({**usual, "reward": math.inf}, [0, 2]),
        ({**usual, "reward": 10**400}, []),
        ({**usual, "observation": {"level": 10}}, []),
    ],
)
def test_steps_in_the_midst_of_episodes_are_plain(another: dict[str, Any], plain: list[int]) -> None:
    kept = LaneStates(3, AutoresetMode.NEXT_STEP, None)
    for lane in range(3):
        kept.begin(lane)
    assert read_together([("step", usual), ("step", another), ("step", usual)], kept)[1] == plain


def test_a_lane_that_failed_and_a_reply_of_another_kind_cost_the_others_nothing() -> None:
    kept = LaneStates(3, AutoresetMode.NEXT_STEP, None)
    answers = [
        Answer(None, "step", errors={0: ExecutionError("failed")}),
        Answer(None, "step", (1,), StateReply(data={})),
        Answer(None, "step", (2,), ObservationReply(usual)),
    ]
    found = read_rows(INTERFACE, answers, kept)
    assert sorted(found.errors) == [0, 1]
    assert (found.lanes, [result.reward for result in found.results]) == ([2], [1.0])
