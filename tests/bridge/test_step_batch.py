"""Actions of all lanes come apart as they were put together, and a step's results stand in their lanes' rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from openenv_gym_protocol.errors import InvalidAction

from openenv_gym.bridge.lane_sets import all_lanes, lane_set
from openenv_gym.bridge.rows import Final, PlainRows, Result
from openenv_gym.bridge.spaces.text import UnicodeText
from openenv_gym.bridge.step_batch import ActionArray, actions_of, lane_actions, split_actions, step_batch


def split(single: spaces.Space[Any], actions: Any, count: int = 2) -> list[Any]:
    return split_actions(batch_space(single, count), single, actions, count)


def test_a_batch_and_a_list_of_single_actions_give_the_same() -> None:
    single = spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(0, 1, (2,))})
    rows = [{"a": i, "b": np.full(2, i, np.float32)} for i in range(2)]
    batched = {"a": np.array([0, 1]), "b": np.array([[0, 0], [1, 1]], np.float32)}
    for actions in (rows, batched):
        assert [(int(row["a"]), row["b"].tolist()) for row in split(single, actions)] == [(0, [0, 0]), (1, [1, 1])]
    assert split(UnicodeText(), ["ab", "cd"]) == ["ab", "cd"]


def test_an_array_with_a_row_for_each_lane_stays_one() -> None:
    single = spaces.Box(0, 1, (2,))
    array = np.arange(6, dtype=np.float32).reshape(3, 2) / 6
    actions = lane_actions(batch_space(single, 3), single, array, lane_set([1, 4, 5], 6))
    assert isinstance(actions, ActionArray)
    assert actions.array is array
    assert {lane: row.tolist() for lane, row in actions.items()} == dict(zip([1, 4, 5], array.tolist(), strict=True))
    part = actions_of(actions, lane_set([1, 5], 6))
    assert isinstance(part, ActionArray)
    assert (list(part), part.array.tolist(), part[5].tolist()) == ([1, 5], array[[0, 2]].tolist(), array[2].tolist())


@pytest.mark.parametrize(
    ("actions", "lanes"), [(np.array([0, 1]), [3, 1]), ([0, 1], [1, 3]), (np.array([0, 1]).reshape(2, 1), [1, 3])]
)
def test_anything_else_becomes_an_action_for_each_lane(actions: Any, lanes: list[int]) -> None:
    single = spaces.Discrete(2)
    given = lane_actions(batch_space(single, 2), single, actions, lane_set(lanes, 4))
    assert type(given) is dict
    assert [(lane, int(np.squeeze(action))) for lane, action in given.items()] == [(lanes[0], 0), (lanes[1], 1)]
    assert list(actions_of(given, lane_set(lanes[1:], 4))) == lanes[1:]


@pytest.mark.parametrize("actions", [[0], [0, 1, 2]])
def test_as_many_actions_as_lanes_are_needed(actions: list[int]) -> None:
    with pytest.raises(ValueError, match="2 environments"):
        split(spaces.Discrete(3), actions)


def test_one_text_is_no_batch_of_texts() -> None:
    with pytest.raises(TypeError, match="One text"):
        split(UnicodeText(), "ab")


def test_each_lanes_results_stand_in_its_row() -> None:
    always = {"seed_applied": 1, "reward_missing": True}
    result = Result(2.5, terminated=True, truncated=False, info={"n": 1, **always})
    single = {
        0: result._replace(truncated=True),
        2: result._replace(final=Final("obs", {"n": 1}), info={"n": 7, **always}),
    }
    plain = PlainRows(all_lanes(3), 0, np.array([9.0, 1.5, 9.0]), np.array([5, -1, 5]), np.array([False, False, False]))
    batch = step_batch(single, plain)
    assert batch.rewards.tolist() == [2.5, 1.5, 2.5]
    assert batch.terminations.tolist() == [True, False, True]
    assert batch.truncations.tolist() == [True, False, False]
    assert (batch.infos["n"].tolist(), batch.infos["_n"].tolist()) == ([1, 0, 7], [True, False, True])
    assert batch.infos["seed_applied"].tolist() == [1, -1, 1]
    assert batch.infos["reward_missing"].tolist() == [True, False, True]
    assert batch.infos["_seed_applied"].all()
    assert batch.infos["_reward_missing"].all()
    assert batch.infos["final_obs"].tolist() == [None, None, "obs"]
    assert batch.infos["_final_info"].tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("single", "actions", "said"),
    [
        (spaces.Discrete(3), 0, "one action for each of the 2 environments"),
        (spaces.Box(0, 1, (2,)), 0.5, "one action for each of the 2 environments"),
        (spaces.Discrete(3), {"move": [0, 1]}, "A dict is no batch"),
        (spaces.Box(0, 1, (2,)), {"move": [[0, 1], [0, 1]]}, "A dict is no batch"),
    ],
)
def test_what_cannot_be_one_action_for_each_lane_says_what_would_be(
    single: spaces.Space[Any], actions: Any, said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        split(single, actions)


def test_keys_that_taking_a_batch_apart_would_drop_are_refused() -> None:
    single = spaces.Dict({"a": spaces.Discrete(3), "in": spaces.Dict({"b": spaces.Discrete(2)})})
    good = {"a": np.array([0, 1]), "in": {"b": np.array([1, 0])}}
    assert [row["in"]["b"] for row in split(single, good)] == [1, 0]
    for wrong in ({**good, "c": np.array([0, 0])}, {**good, "in": {**good["in"], "c": np.array([0, 0])}}):  # type: ignore[dict-item]
        with pytest.raises(InvalidAction, match="'c'"):
            split(single, wrong)
