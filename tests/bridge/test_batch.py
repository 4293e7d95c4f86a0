"""Rows become batches as Gymnasium's do, and values of different kinds do not stop it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import VectorEnv

from openenv_gym.bridge.batch import batch_infos, batch_observations


def gymnasiums_own(count: int, infos: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    env: VectorEnv[Any, Any, Any] = VectorEnv()
    env.num_envs = count
    merged: dict[str, Any] = {}
    for lane, info in infos:
        merged = env._add_info(merged, info, lane)
    return merged


@pytest.mark.parametrize(
    "infos",
    [
        [(0, {"a": 1}), (2, {"a": 2})],
        [(0, {"a": 1.5, "b": "x"}), (1, {"b": "longer"})],
        [(0, {"a": True}), (1, {"a": False})],
        [(1, {"a": np.float32(1)}), (2, {"a": np.float32(2)})],
        [(0, {"a": np.arange(3)}), (1, {"a": np.arange(3) + 1})],
        [(0, {"a": {"b": 1, "c": "x"}}), (2, {"a": {"b": 2}})],
        [(0, {"a": [1, 2]}), (1, {"a": None})],
        [(1, {"final_obs": np.zeros(2), "final_info": {"steps": 3}}), (1, {"steps": 0}), (2, {"steps": 4})],
        [],
    ],
)
def test_infos_of_one_kind_are_merged_as_gymnasium_merges_them(infos: list[tuple[int, dict[str, Any]]]) -> None:
    ours, theirs = batch_infos(3, infos), gymnasiums_own(3, infos)
    assert ours.keys() == theirs.keys()
    for key in ours:
        if isinstance(ours[key], np.ndarray) and ours[key].dtype == object:
            assert [repr(value) for value in ours[key]] == [repr(value) for value in theirs[key]]
        else:
            assert data_equivalence(ours[key], theirs[key], exact=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2.5], np.array([1.0, 2.5])),
        ([True, 5], np.array([True, 5], object)),
        ([1, None], np.array([1, None], object)),
        ([1, "x"], np.array([1, "x"], object)),
        ([1, 2**70], np.array([1, 2**70], object)),
        (["a", "longer"], np.array(["a", "longer"], object)),
        ([np.int32(1), np.float32(2)], np.array([1.0, 2.0])),
    ],
)
def test_values_of_different_kinds_keep_their_values(values: list[Any], expected: np.ndarray[Any, Any]) -> None:
    array = batch_infos(2, list(enumerate({"k": value} for value in values)))["k"]
    assert array.dtype == expected.dtype
    assert array.tolist() == expected.tolist()


def test_ragged_arrays_become_objects() -> None:
    array = batch_infos(2, [(0, {"k": np.zeros(2)}), (1, {"k": np.zeros(3)})])["k"]
    assert array.dtype == object
    assert [value.shape for value in array] == [(2,), (3,)]


def test_a_dict_and_a_number_become_objects() -> None:
    array = batch_infos(2, [(0, {"k": {"a": 1}}), (1, {"k": 3})])["k"]
    assert array.tolist() == [{"a": 1}, 3]


def test_batches_share_no_memory_with_their_rows() -> None:
    space = spaces.Dict({"a": spaces.Box(0, 1, (2,)), "t": spaces.Text(3)})
    rows = [space.sample() for _ in range(3)]
    batch = batch_observations(space, rows)
    assert not np.shares_memory(batch["a"], rows[0]["a"])
    assert batch["t"] == tuple(row["t"] for row in rows)
