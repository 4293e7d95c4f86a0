"""Actions of all lanes come apart as they were put together, and a step's results stand in their lanes' rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from openenv_gym.bridge.rows import Final, Result
from openenv_gym.bridge.spaces.text import UnicodeText
from openenv_gym.bridge.step_batch import split_actions, step_batch


def split(single: spaces.Space[Any], actions: Any, count: int = 2) -> list[Any]:
    return split_actions(batch_space(single, count), single, actions, count)


def test_a_batch_and_a_list_of_single_actions_give_the_same() -> None:
    single = spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(0, 1, (2,))})
    rows = [{"a": i, "b": np.full(2, i, np.float32)} for i in range(2)]
    batched = {"a": np.array([0, 1]), "b": np.array([[0, 0], [1, 1]], np.float32)}
    for actions in (rows, batched):
        assert [(int(row["a"]), row["b"].tolist()) for row in split(single, actions)] == [(0, [0, 0]), (1, [1, 1])]
    assert split(UnicodeText(), ["ab", "cd"]) == ["ab", "cd"]


@pytest.mark.parametrize("actions", [[0], [0, 1, 2]])
def test_as_many_actions_as_lanes_are_needed(actions: list[int]) -> None:
    with pytest.raises(ValueError, match="2 environments"):
        split(spaces.Discrete(3), actions)


def test_one_text_is_no_batch_of_texts() -> None:
    with pytest.raises(TypeError, match="One text"):
        split(UnicodeText(), "ab")


def test_each_lanes_results_stand_in_its_row() -> None:
    result = Result(2.5, terminated=True, truncated=False, info={"n": 1})
    batch = step_batch(
        [
            result._replace(truncated=True),
            Result(0.0, terminated=False, truncated=False, info={"n": 1}),
            result._replace(final=Final("obs", {"n": 1}), info={"n": 7}),
        ]
    )
    assert batch.rewards.tolist() == [2.5, 0.0, 2.5]
    assert batch.terminations.tolist() == [True, False, True]
    assert batch.truncations.tolist() == [True, False, False]
    assert batch.infos["n"].tolist() == [1, 1, 7]
    assert batch.infos["final_obs"].tolist() == [None, None, "obs"]
    assert batch.infos["_final_info"].tolist() == [False, False, True]
