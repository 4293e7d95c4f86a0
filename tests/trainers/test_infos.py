"""The infos of a vector environment, split by lanes as trainers want them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.bridge.batch import batch_infos
from openenv_gym.trainers.infos import same_step_infos, split_infos

_VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, width=64),
    st.text(max_size=5),
    st.none(),
)
_INFOS = st.dictionaries(st.sampled_from("abcd"), _VALUES, max_size=4)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_INFOS, min_size=1, max_size=5))
def test_what_was_merged_is_split_again(rows: list[dict[str, Any]]) -> None:
    split = split_infos(batch_infos(len(rows), list(enumerate(rows))), len(rows))
    assert split == rows


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_INFOS, min_size=1, max_size=5))
def test_integers_booleans_and_texts_stay_what_they_were(rows: list[dict[str, Any]]) -> None:
    # One kind a key: of several kinds of numbers, the merge makes one.
    rows = [{f"{key}.{type(value).__name__}": value for key, value in row.items()} for row in rows]
    split = split_infos(batch_infos(len(rows), list(enumerate(rows))), len(rows))
    assert [{key: type(value) for key, value in row.items()} for row in split] == [
        {key: type(value) for key, value in row.items()} for row in rows
    ]


def test_arrays_of_a_lane_are_copies() -> None:
    infos = {"mask": np.arange(6).reshape(2, 3), "_mask": np.array([True, True])}
    split = split_infos(infos, 2)
    infos["mask"][:] = -1
    np.testing.assert_array_equal(split[1]["mask"], [3, 4, 5])


def test_a_lane_has_only_what_its_masks_say() -> None:
    infos = {
        "score": np.array([1.5, 0.0]),
        "_score": np.array([True, False]),
        "nested": {"depth": np.array([0, 7]), "_depth": np.array([False, True])},
        "_nested": np.array([False, True]),
    }
    assert split_infos(infos, 2) == [{"score": 1.5}, {"nested": {"depth": 7}}]


def test_what_has_no_mask_is_every_lanes_and_shared_by_none() -> None:
    first, second = split_infos({"settings": ["a"], "_private": 3}, 2)
    first["settings"].append("b")
    assert second == {"settings": ["a"], "_private": 3}


class _Counter(gymnasium.Env[Any, Any]):
    """Ends after as many steps as its number says: odd ones terminate, even ones are truncated."""

    observation_space = gymnasium.spaces.Discrete(10)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int) -> None:
        self.length = length
        self.place = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0
        return 0, {"began": True}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.place += 1
        is_over, is_odd = self.place == self.length, bool(self.length % 2)
        return self.place, 1.0, is_over and is_odd, is_over and not is_odd, {"place": self.place}


def test_the_info_of_a_step_is_apart_from_that_of_the_reset_within_it() -> None:
    lengths = (2, 3)
    thunks = [lambda length=length: _Counter(length) for length in lengths]
    envs = RecordEpisodeStatistics(SyncVectorEnv(thunks, autoreset_mode=AutoresetMode.SAME_STEP))
    envs.reset()
    for step in range(1, 13):
        *_, terminations, truncations, infos = envs.step(np.zeros(2, int))
        before = deepcopy(infos)
        rows, resets = same_step_infos(infos, terminations | truncations)
        np.testing.assert_equal(infos, before)
        for lane, length in enumerate(lengths):
            place = (step - 1) % length + 1
            assert rows[lane]["place"] == place
            assert (lane in resets) == (place == length) == ("final_obs" in rows[lane])
            if lane in resets:
                assert resets[lane] == {"began": True}
                assert rows[lane]["final_obs"] == length
                assert (rows[lane]["episode"]["r"], rows[lane]["episode"]["l"]) == (length, length)


def test_an_end_without_a_final_observation_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="lane 1 ended without final_obs"):
        same_step_infos({}, np.array([False, True]))
