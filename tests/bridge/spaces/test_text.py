"""Text of any kind is in its space, samples are short, and shared memory brings back what was written."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)

from openenv_gym.bridge.composite_spaces import BoundedSequence, Choice
from openenv_gym.bridge.text_spaces import JsonText, UnicodeText, draw_object


def test_any_text_of_an_allowed_length_is_inside() -> None:
    space = UnicodeText(10, min_length=1)
    for text in ("a", "naïve", "a b\n", "日本語", "😀" * 10, "\x00"):
        assert text in space
    for other in ("", "x" * 11, b"bytes", None, 3, ["a"]):
        assert other not in space


@pytest.mark.parametrize("space", [UnicodeText(), UnicodeText(5, min_length=2), UnicodeText(0), JsonText()])
def test_samples_are_inside_short_and_determined_by_the_seed(space: spaces.Space[str]) -> None:
    space.seed(3)
    first = [space.sample() for _ in range(300)]
    space.seed(3)
    assert first == [space.sample() for _ in range(300)]
    assert all(text in space for text in first)
    assert max(map(len, first)) < 500


def test_text_spaces_are_equal_when_their_lengths_are() -> None:
    assert UnicodeText(5) == UnicodeText(5, seed=1)
    assert UnicodeText(5) != UnicodeText(6)
    assert UnicodeText(5) != spaces.Text(5, min_length=0)
    assert JsonText(5) != UnicodeText(5, min_length=1)
    assert JsonText(5) == JsonText(5, draw=draw_object)


def test_a_text_space_is_light() -> None:
    space = UnicodeText(10**6)
    assert len(repr(space)) < 40
    assert len(pickle.dumps(space)) < 10_000
    assert pickle.loads(pickle.dumps(space)) == space


def test_json_text_holds_json_and_nothing_else() -> None:
    space = JsonText(1000)
    for text in ("null", "[1,2]", '{"a": 1}', '"x"', "1e3"):
        assert text in space
    for text in ("", "{", "plain", "[" * 990):
        assert text not in space
    with pytest.raises(ValueError, match="mask"):
        space.sample(mask=(3, None))


def _through_shared_memory(space: spaces.Space[Any], count: int, steps: list[list[Any]]) -> list[Any]:
    """What AsyncVectorEnv would return: it reads the views once, and copies them after every write."""
    memory = create_shared_memory(space, count)
    view = read_from_shared_memory(space, memory, count)
    seen = []
    for values in steps:
        for index, value in enumerate(values):
            write_to_shared_memory(space, index, value, memory)
        seen.append(deepcopy(view))
    return seen


def test_shared_memory_brings_back_every_text() -> None:
    steps = [["naïve", ""], ["", "日本 😀"], ["x" * 20, "\n"]]
    seen = _through_shared_memory(UnicodeText(20), 2, steps)
    assert seen == [tuple(values) for values in steps]


def test_shared_memory_brings_back_every_choice() -> None:
    space = Choice((UnicodeText(8), spaces.Box(0, 1, (2,)), spaces.Discrete(3)))
    steps: list[list[Any]] = [
        [(0, "é"), (2, 1)],
        [(1, np.array([0.5, 0.25], np.float32)), (0, "b")],
        [(2, 2), (1, np.array([0, 1], np.float32))],
    ]
    for seen, written in zip(_through_shared_memory(space, 2, steps), steps, strict=True):
        for (branch, value), (expected_branch, expected) in zip(seen, written, strict=True):
            assert branch == expected_branch
            assert np.array_equal(value, expected)
            assert (branch, value) in space


def test_shared_memory_works_inside_a_dict_and_refuses_what_does_not_fit() -> None:
    space = spaces.Dict({"text": UnicodeText(4), "n": spaces.Discrete(3)})
    ((seen),) = _through_shared_memory(space, 2, [[{"text": "ab", "n": 1}, {"text": "ü", "n": 2}]])
    assert seen["text"] == ("ab", "ü")
    assert seen["n"].tolist() == [1, 2]
    with pytest.raises(ValueError, match="5 characters"):
        _through_shared_memory(UnicodeText(4), 1, [["12345"]])


def test_a_live_batch_reads_like_a_tuple() -> None:
    space = UnicodeText(4)
    memory = create_shared_memory(space, 2)
    view: Any = read_from_shared_memory(space, memory, 2)
    value: Any = "b"
    write_to_shared_memory(space, 1, value, memory)
    assert (len(view), list(view), view[1], view == ("", "b")) == (2, ["", "b"], "b", True)


@pytest.mark.parametrize("space", [UnicodeText(20), JsonText(200), Choice((UnicodeText(5), spaces.Discrete(2)))])
def test_batches_are_tuples(space: spaces.Space[Any]) -> None:
    batched = batch_space(space, 3)
    samples = [space.sample() for _ in range(3)]
    out: Any = create_empty_array(space, 3)
    joined = concatenate(space, samples, out)
    assert joined == tuple(samples)
    assert joined in batched
    assert list(iterate(batched, joined)) == samples
    assert batched.sample() in batched


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
