"""Single values are written whatever number holds them, and refused where they are none of the space's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from openenv_gym.bridge.codecs.base import Codec, Refusal
from openenv_gym.bridge.codecs.leaves import BoolCodec, EnumCodec, JsonCodec, RangeCodec, TextCodec
from openenv_gym.bridge.spaces.text import JsonText, UnicodeText

EVEN = RangeCodec(spaces.Discrete(4), low=10, step=2)
WORDS = EnumCodec(["a", None, 1, True])


@pytest.mark.parametrize("one", [1, 1.0, True, np.int8(1), np.float32(1), np.array(1), np.array([1]), [1], (1,)])
def test_every_form_of_a_whole_number_is_an_action(one: Any) -> None:
    assert EVEN.encode(one) == 12
    assert BoolCodec().encode(one) is True


def test_positions_count_from_the_spaces_start() -> None:
    codec = RangeCodec(spaces.Discrete(3, start=-1), low=5)
    assert [codec.decode(number) for number in (5, 6, 7)] == [-1, 0, 1]
    assert codec.encode(1) == 7


def test_positions_have_the_spaces_dtype() -> None:
    space: Any = spaces.Discrete(3)
    space.dtype = np.dtype(np.int16)  # an argument since Gymnasium 1.2
    for codec, payload in ((RangeCodec(space, low=0), 1), (EnumCodec("abc", space), "b")):
        assert codec.decode(payload) == 1
        assert codec.decode(payload).dtype == np.int16


def test_an_enumerations_values_are_told_apart_by_type() -> None:
    assert [WORDS.decode(value) for value in ("a", None, 1, True)] == [0, 1, 2, 3]
    assert [WORDS.encode(position) for position in range(4)] == ["a", None, 1, True]


@pytest.mark.parametrize(
    ("codec", "value"),
    [
        (EVEN, 4),
        (EVEN, -1),
        (EVEN, 0.5),
        (EVEN, "1"),
        (EVEN, None),
        (EVEN, np.array([1, 2])),
        (WORDS, 4),
        (BoolCodec(), 2),
        (TextCodec(UnicodeText(2)), "abc"),
        (TextCodec(spaces.Text(3)), "é"),
        (TextCodec(UnicodeText()), 3),
        (JsonCodec(JsonText()), "{"),
        (JsonCodec(JsonText()), "[" * 100_000),
        (JsonCodec(JsonText(form="object")), "[]"),
    ],
)
def test_a_value_outside_is_not_written(codec: Codec, value: Any) -> None:
    with pytest.raises(Refusal) as raised:
        codec.encode(value)
    assert len(raised.value.reason) < 400


@pytest.mark.parametrize(
    ("codec", "payload"),
    [
        (EVEN, 11),
        (EVEN, 18),
        (EVEN, 12.0),
        (WORDS, "b"),
        (WORDS, False),
        (BoolCodec(), 1),
        (TextCodec(UnicodeText()), None),
        (JsonCodec(JsonText(9)), list(range(9))),
        (JsonCodec(JsonText(form="array")), {}),
    ],
)
def test_a_payload_outside_is_not_read(codec: Codec, payload: Any) -> None:
    with pytest.raises(Refusal):
        codec.decode(payload)


def test_text_that_numpy_wrapped_is_text() -> None:
    for text in (np.str_("é"), np.array("é"), np.array(["é"])):
        assert TextCodec(UnicodeText()).encode(text) == "é"
