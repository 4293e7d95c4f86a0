"""Bounded sequences keep their bounds, and a choice comes back from shared memory as it was written."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from openenv_gym_protocol.gymnasium_spaces import data_to_space, space_to_data

from openenv_gym.bridge.spaces.containers import BoundedSequence, Choice
from openenv_gym.bridge.spaces.text import UnicodeText
from tests.support.shared_memory import through_shared_memory


def test_bounded_sequences_keep_their_bounds() -> None:
    space = BoundedSequence(spaces.Discrete(3), 2, 4)
    space.seed(1)
    lengths = {len(space.sample()) for _ in range(200)}
    assert lengths == {2, 3, 4}
    assert (0, 1) in space
    for value in ((0,), (0,) * 5, [0, 1], (0, 3)):
        assert value not in space
    assert space == BoundedSequence(spaces.Discrete(3), 2, 4)
    assert space != BoundedSequence(spaces.Discrete(3), 2, 5)


def test_shared_memory_brings_back_every_choice() -> None:
    space = Choice((UnicodeText(8), spaces.Box(0, 1, (2,)), spaces.Discrete(3)))
    steps: list[list[Any]] = [
        [(0, "é"), (2, 1)],
        [(1, np.array([0.5, 0.25], np.float32)), (0, "b")],
        [(2, 2), (1, np.array([0, 1], np.float32))],
    ]
    for seen, written in zip(through_shared_memory(space, 2, steps), steps, strict=True):
        for (branch, value), (expected_branch, expected) in zip(seen, written, strict=True):
            assert branch == expected_branch
            assert np.array_equal(value, expected)
            assert (branch, value) in space


def test_a_choice_of_containers_comes_back_from_shared_memory() -> None:
    point = spaces.Dict({"x": spaces.Box(0, 1, (1,)), "n": spaces.Discrete(5)})
    space = Choice((point, spaces.Tuple([spaces.Discrete(3), UnicodeText(4)])))
    written: list[Any] = [(0, {"x": np.array([0.5], np.float32), "n": 4}), (1, (2, "é"))]
    (seen,) = through_shared_memory(space, 2, [written])
    assert all(value in space for value in seen)
    assert (seen[0][1]["x"].tolist(), int(seen[0][1]["n"])) == ([0.5], 4)
    assert (int(seen[1][1][0]), seen[1][1][1]) == (2, "é")


def test_batches_of_choices_are_tuples() -> None:
    space = Choice((UnicodeText(5), spaces.Discrete(2)))
    batched = batch_space(space, 3)
    samples = [space.sample() for _ in range(3)]
    out: Any = create_empty_array(space, 3)
    joined = concatenate(space, samples, out)
    assert joined == tuple(samples)
    assert joined in batched
    assert list(iterate(batched, joined)) == samples
    assert batched.sample() in batched


def test_containers_travel_as_data() -> None:
    for space in (BoundedSequence(spaces.Discrete(3), 2, 4), Choice((UnicodeText(5), spaces.Discrete(2)))):
        assert data_to_space(space_to_data(space)) == space
