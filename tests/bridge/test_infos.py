"""Infos are flat, have stable keys and say what the bridge knows."""

from __future__ import annotations

import numpy as np
import pytest

from openenv_gym.bridge.infos import InfoReader


def read(reader: InfoReader, metadata: dict[str, object]) -> dict[str, object]:
    info = reader.read(metadata, reward_missing=False, seed_applied=1)
    assert (info.pop("seed_applied"), info.pop("reward_missing")) == (1, False)
    return info


def test_nested_metadata_is_flat() -> None:
    assert read(InfoReader(), {"a": {"b": 1, "c": {"d": "x"}}, "e": 2.5}) == {"a.b": 1, "a.c.d": "x", "e": 2.5}


def test_lists_of_numbers_are_arrays_and_others_are_not() -> None:
    info = read(InfoReader(), {"numbers": [1, 2], "words": ["a"], "ragged": [[1], [1, 2]], "big": [2**70]})
    assert isinstance(info["numbers"], np.ndarray)
    assert (info["words"], info["ragged"], info["big"]) == (["a"], [[1], [1, 2]], [2**70])


@pytest.mark.parametrize(
    "key", ["episode", "final_obs", "final_info", "_x", "env_id", "reset_info", "seed_applied", "failure"]
)
def test_reserved_names_are_moved(key: str) -> None:
    assert read(InfoReader(), {key: 1}) == {f"metadata.{key}": 1}


def test_what_is_said_elsewhere_is_dropped() -> None:
    assert read(InfoReader(), {"truncated": True, "TimeLimit.truncated": False, "episode_id": "a"}) == {}


def test_promised_keys_are_always_there() -> None:
    reader = InfoReader(["steps", "name", "place"])
    first = read(reader, {})
    assert all(np.isnan(first[key]) for key in ("steps", "name", "place"))  # type: ignore[call-overload]
    read(reader, {"steps": 3, "name": "x", "place": [1, 2]})
    later = read(reader, {"steps": None})
    assert np.isnan(later["steps"])  # type: ignore[call-overload]
    assert later["name"] == ""
    assert np.array_equal(later["place"], [0, 0])  # type: ignore[arg-type]


def test_null_does_not_turn_a_number_into_an_object() -> None:
    reader = InfoReader()
    assert read(reader, {"score": None}) == {"score": None}
    assert read(reader, {"score": 2}) == {"score": 2}
    assert np.isnan(read(reader, {"score": None})["score"])  # type: ignore[call-overload]


def test_an_environment_cannot_say_that_a_lane_failed() -> None:
    info = read(InfoReader(), {"failure": "environment", "failure_message": "invented"})
    assert info == {"metadata.failure": "environment", "metadata.failure_message": "invented"}
