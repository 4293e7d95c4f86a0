"""Objects keep their keys, and say which one is missing, unknown or wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from openenv_gym.bridge.codecs.base import Refusal
from openenv_gym.bridge.codecs.leaves import BoolCodec, RangeCodec
from openenv_gym.bridge.codecs.objects import EmptyCodec, Field, FieldCodec, ObjectCodec

DIGIT = RangeCodec(spaces.Discrete(10), low=0)
POINT = ObjectCodec([Field("x", DIGIT), Field("flag", BoolCodec(), default=False)])


def test_keys_stand_in_gymnasiums_order_and_unknown_ones_are_left_out() -> None:
    value = POINT.decode({"x": 1, "flag": True, "later": "version"})
    assert list(value.items()) == [("flag", 1), ("x", 1)]
    assert POINT.encode(value) == {"x": 1, "flag": True}


def test_a_missing_key_is_its_default_or_an_error() -> None:
    assert POINT.decode({"x": 1})["flag"] == 0
    with pytest.raises(Refusal) as raised:
        POINT.decode({"flag": True})
    assert raised.value.path == ["x"]


def test_a_closed_object_refuses_unknown_keys_but_the_ignored() -> None:
    closed = ObjectCodec([Field("x", DIGIT)], is_closed=True, ignored=frozenset({"metadata"}))
    assert closed.decode({"x": 1, "metadata": {}}) == {"x": 1}
    with pytest.raises(Refusal, match="other"):
        closed.decode({"x": 1, "other": 2})


def test_a_flat_object_spreads_its_parts_under_dotted_keys() -> None:
    flat = ObjectCodec([Field("at", POINT), Field("text", None, filler="none")], is_flat=True)
    value = flat.decode({"at": {"x": 3}, "text": "left out"})
    assert value == {"at.flag": 0, "at.x": 3}
    assert flat.encode(value) == {"at": {"x": 3, "flag": False}, "text": "none"}
    with pytest.raises(Refusal, match=r"at\.flag"):
        flat.encode({"at.x": 3})


def test_one_field_is_the_fields_own_space() -> None:
    codec = FieldCodec("move", DIGIT)
    assert codec.space is DIGIT.space
    assert codec.decode({"move": 3, "more": 1}) == 3
    assert codec.encode(np.int64(3)) == {"move": 3}
    for payload in ({}, {"move": 77}):
        with pytest.raises(Refusal) as raised:
            codec.decode(payload)
        assert raised.value.path == ["move"]
    with pytest.raises(Refusal) as raised:
        codec.encode(77)
    assert raised.value.path == ["move"]


def test_an_object_without_fields_has_one_value() -> None:
    codec = EmptyCodec()
    assert codec.decode({"anything": 1}) == 0
    assert codec.encode(np.array([0])) == {}
    with pytest.raises(Refusal):
        codec.encode([0, 0])


@pytest.mark.parametrize("codec", [POINT, FieldCodec("x", DIGIT), EmptyCodec()])
@pytest.mark.parametrize("payload", [None, [], "x"])
def test_what_is_no_object_is_not_read(codec: Any, payload: Any) -> None:
    with pytest.raises(Refusal, match="no object"):
        codec.decode(payload)


def test_what_is_no_dict_is_not_written() -> None:
    with pytest.raises(Refusal, match="no dict"):
        POINT.encode([1, 2])


@pytest.mark.parametrize("is_flat", [False, True])
def test_a_key_that_the_space_has_not_is_not_written(is_flat: bool) -> None:
    codec = ObjectCodec([Field("at", POINT)], is_flat=is_flat)
    value = codec.decode({"at": {"x": 3}})
    codec.encode(value)
    with pytest.raises(Refusal, match="zzz"):
        codec.encode({**value, "zzz": 1})
