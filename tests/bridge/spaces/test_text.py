"""Text of any kind is in its space, samples are short, and shared memory brings back what was written."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from openenv_gym_protocol.gymnasium_spaces import data_to_space, space_to_data

from openenv_gym.bridge.spaces.text import JsonText, UnicodeText, draw_object
from tests.support.shared_memory import through_shared_memory


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


def test_shared_memory_brings_back_every_text() -> None:
    steps = [["naïve", ""], ["", "日本 😀"], ["x" * 20, "\n"]]
    seen = through_shared_memory(UnicodeText(20), 2, steps)
    assert seen == [tuple(values) for values in steps]


def test_shared_memory_works_inside_a_dict_and_refuses_what_does_not_fit() -> None:
    space = spaces.Dict({"text": UnicodeText(4), "n": spaces.Discrete(3)})
    ((seen),) = through_shared_memory(space, 2, [[{"text": "ab", "n": 1}, {"text": "ü", "n": 2}]])
    assert seen["text"] == ("ab", "ü")
    assert seen["n"].tolist() == [1, 2]
    with pytest.raises(ValueError, match="5 characters"):
        through_shared_memory(UnicodeText(4), 1, [["12345"]])


def test_json_text_of_a_form_samples_and_holds_nothing_else() -> None:
    for form, good, wrong in (("object", "{}", "[]"), ("array", "[]", "{}")):
        space = JsonText(5000, form=form)  # type: ignore[arg-type]
        assert good in space
        assert wrong not in space
        assert "1" not in space
        assert all(space.sample() in space for _ in range(100))
        assert space != JsonText(5000)
    with pytest.raises(ValueError, match="number"):
        JsonText(form="number")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "space", [UnicodeText(9, min_length=2), JsonText(50), JsonText(50, form="object"), JsonText(50, form="array")]
)
def test_a_text_space_travels_as_data(space: spaces.Space[Any]) -> None:
    data = json.loads(json.dumps(space_to_data(space)))
    assert data_to_space(data) == space
    assert all(data_to_space(data).sample() in space for _ in range(50))


@pytest.mark.parametrize("space", [UnicodeText(20), JsonText(200)])
def test_batches_are_tuples(space: spaces.Space[Any]) -> None:
    batched = batch_space(space, 3)
    samples = [space.sample() for _ in range(3)]
    out: Any = create_empty_array(space, 3)
    joined = concatenate(space, samples, out)
    assert joined == tuple(samples)
    assert joined in batched
    assert list(iterate(batched, joined)) == samples
    assert batched.sample() in batched
