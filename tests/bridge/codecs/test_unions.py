"""A choice travels with what it chose, and nothing is told apart from a value."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium import spaces

from openenv_gym.bridge.codecs.base import MISSING, Codec, Refusal
from openenv_gym.bridge.codecs.leaves import BoolCodec, RangeCodec, TextCodec
from openenv_gym.bridge.codecs.objects import Field, ObjectCodec
from openenv_gym.bridge.codecs.unions import FlatOptionalCodec, OptionalCodec, TaggedCodec, UnionCodec
from openenv_gym.bridge.spaces.text import UnicodeText

DIGIT = RangeCodec(spaces.Discrete(10), low=0)
TEXT = TextCodec(UnicodeText())
PAIR = ObjectCodec([Field("a", DIGIT), Field("b", BoolCodec())])

OPTIONAL = OptionalCodec(DIGIT)
FLAT = FlatOptionalCodec(DIGIT)
EITHER = UnionCodec([TEXT, BoolCodec(), DIGIT])
TAGGED = TaggedCodec(spaces.OneOf([DIGIT.space, TEXT.space]), [DIGIT, TEXT])


def test_nothing_is_null_or_a_missing_key() -> None:
    for codec, nothing in ((OPTIONAL, None), (OptionalCodec(DIGIT, is_absent=True), MISSING)):
        assert codec.decode(3) == (0, 3)
        assert codec.decode(nothing) == (1, 0)
        assert codec.encode((0, 3)) == 3
        assert codec.encode((1, 0)) is nothing


def test_in_the_flat_view_nothing_is_zero_and_not_present() -> None:
    assert FLAT.decode(3) == {"value": 3, "present": 1}
    assert FLAT.decode(None) == {"value": 0, "present": 0}
    assert FLAT.encode({"value": 7, "present": 0}) is None
    spread = FlatOptionalCodec(PAIR)
    value = spread.decode({"a": 3, "b": True})
    assert value == {"value.a": 3, "value.b": 1, "present": 1}
    assert value in spread.space
    assert spread.encode(value) == {"a": 3, "b": True}
    assert spread.decode(None) in spread.space


def test_a_union_takes_the_first_form_that_fits_and_keeps_its_number() -> None:
    assert [EITHER.decode(payload) for payload in ("x", True, 3)] == [(0, "x"), (1, 1), (2, 3)]
    assert [EITHER.encode(value) for value in ((0, "x"), (1, 1), (2, 3))] == ["x", True, 3]
    with pytest.raises(Refusal, match="none of the forms"):
        EITHER.decode([])


def test_a_declared_choice_travels_with_its_number() -> None:
    assert TAGGED.decode([1, "x"]) == (1, "x")
    assert TAGGED.encode((0, 3)) == [0, 3]


@pytest.mark.parametrize("codec", [OPTIONAL, EITHER, TAGGED])
@pytest.mark.parametrize("value", [3, (0,), (9, 1), (-1, 1), ("0", 1), (True, 0)])
def test_what_is_no_choice_is_not_written(codec: Codec, value: Any) -> None:
    with pytest.raises(Refusal):
        codec.encode(value)


@pytest.mark.parametrize(
    "value", [3, {}, {"present": 1}, {"value": 1}, {"present": [1, 1], "value": 1}, {"present": 0.5, "value": 1}]
)
def test_what_does_not_say_whether_it_is_there_is_not_written(value: Any) -> None:
    with pytest.raises(Refusal):
        FLAT.encode(value)


@pytest.mark.parametrize("payload", [3, [0], [2, 1], [True, 1], [0, "x"]])
def test_what_is_no_tagged_value_is_not_read(payload: Any) -> None:
    with pytest.raises(Refusal):
        TAGGED.decode(payload)
