"""The last observation of every lane, put together from whatever came of which lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from openenv_gym.bridge.observations import LastObservations

FIXED = spaces.Dict(
    {
        "pair": spaces.Tuple((spaces.Discrete(9), spaces.MultiBinary(2))),
        "box": spaces.Box(-1, 1, (2,), np.float32),
    }
)
OPEN = spaces.Dict({"text": spaces.Text(9), "number": spaces.Discrete(9)})


def fixed(number: int) -> dict[str, Any]:
    return {
        "pair": (np.int64(number), np.array([number % 2, 1], np.int8)),
        "box": np.full(2, number / 10, np.float32),
    }


def test_lanes_that_came_apart_stand_in_their_rows() -> None:
    last = LastObservations(FIXED, 3)
    completed = []
    for lanes, values in (([2, 0], [fixed(2), fixed(0)]), ([1], [fixed(1)])):
        last.put(lanes, values)
        completed.append(last.is_complete)
    assert completed == [False, True]
    batch = last.batch()
    assert batch in batch_space(FIXED, 3)
    assert batch["pair"][0].tolist() == [0, 1, 2]
    last.put([1], [fixed(5)])
    assert last.batch()["pair"][0].tolist() == [0, 5, 2]
    assert last.batch([2, 1])["pair"][0].tolist() == [2, 5]
    assert last.value(1) in FIXED
    assert last.value(1)["pair"][0] == 5


def test_arrays_of_a_frame_are_copied_into_the_batch() -> None:
    last = LastObservations(spaces.Box(-1, 1, (2,), np.float32), 2)
    frame = np.frombuffer(np.array([[0, 1], [1, 0]], "<f4").tobytes(), "<f4").reshape(2, 2)
    last.put_leaves([0, 1], {(): frame})
    first, second = last.batch(), last.batch()
    assert first.tolist() == frame.tolist()
    assert first.flags.writeable
    assert first.dtype == np.dtype(np.float32)
    first[:] = 7
    assert second.tolist() == last.batch().tolist() == frame.tolist()
    value = last.value(0)
    value[:] = 7
    assert last.value(0).tolist() == [0, 1]


def test_values_of_no_fixed_shape_are_kept_as_they_are() -> None:
    last = LastObservations(OPEN, 2)
    last.put([1, 0], [{"text": "b", "number": 1}, {"text": "a", "number": 0}])
    assert last.batch()["text"] == ("a", "b")
    assert last.batch([1])["number"].tolist() == [1]
    assert last.value(1) == {"text": "b", "number": 1}


def test_nothing_that_is_old_is_kept() -> None:
    last = LastObservations(spaces.Discrete(9), 4)
    for number in range(50):
        last.put([number % 4], [number % 9])
        if number >= 3:
            last.batch()
            assert len(last._parts) <= 4


@pytest.mark.parametrize("count", [1, 3])
def test_one_part_of_all_lanes_is_what_the_batch_is_made_of(count: int) -> None:
    last = LastObservations(spaces.Discrete(9), count)
    last.put(list(range(count)), list(range(count)))
    assert last.batch().tolist() == list(range(count))
