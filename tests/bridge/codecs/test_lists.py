"""Lists of fixed and varying length, padded lists and sets: what fits goes both ways, what does not is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from openenv_gym.bridge.codecs.arrays import ArrayCodec
from openenv_gym.bridge.codecs.base import Codec, Refusal
from openenv_gym.bridge.codecs.leaves import BoolCodec, RangeCodec
from openenv_gym.bridge.codecs.lists import (
    FlatTupleCodec,
    PaddedCodec,
    SequenceCodec,
    SetCodec,
    StackedCodec,
    TupleCodec,
)
from openenv_gym.bridge.spaces.containers import BoundedSequence

DIGIT = RangeCodec(spaces.Discrete(10), low=0)
NUMBER_SPACE = spaces.Box(1, 9, (1,), np.float32)
NUMBER = ArrayCodec(NUMBER_SPACE, NUMBER_SPACE.low, NUMBER_SPACE.high, "number", is_scalar=True)

PAIR = TupleCodec([DIGIT, BoolCodec()])
FLAT_PAIR = FlatTupleCodec([DIGIT, BoolCodec()])
FEW = SequenceCodec(DIGIT, BoundedSequence(DIGIT.space, 1, 3))
NONE_AT_ALL = SequenceCodec(DIGIT, BoundedSequence(DIGIT.space, 0, 0))
STACKED = StackedCodec(SequenceCodec(NUMBER, spaces.Sequence(NUMBER_SPACE)), spaces.Sequence(NUMBER_SPACE, stack=True))
PADDED = PaddedCodec(NUMBER, 1, 3)
LEGAL = SetCodec(3, 4)


@pytest.mark.parametrize(
    ("codec", "payload"),
    [
        *((PAIR, [3, True]), (FLAT_PAIR, [3, True]), (FEW, [1, 2, 3]), (NONE_AT_ALL, []), (STACKED, [1.0, 2.0])),
        *((STACKED, []), (PADDED, [4.0, 5.0]), (LEGAL, [3, 6]), (LEGAL, [])),
    ],
)
def test_a_list_travels_through_its_space(codec: Codec, payload: list[Any]) -> None:
    value = codec.decode(payload)
    assert value in codec.space
    assert codec.encode(value) == payload


def test_padding_is_what_the_bounds_allow_and_is_not_sent() -> None:
    value = PADDED.decode([4.0])
    assert (value["data"].tolist(), value["mask"].tolist()) == ([4.0, 1.0, 1.0], [1, 0, 0])
    assert PADDED.encode({"data": [4, 5, 6], "mask": [0, 0, 0]}) == [4.0], "the shortest length is always sent"


def test_a_sequences_bounds_stand_in_the_refusal() -> None:
    with pytest.raises(Refusal, match=r"\[1, 3\]"):
        FEW.decode([])
    with pytest.raises(Refusal, match=r"\[0, 0\]"):
        NONE_AT_ALL.decode([1])


def test_the_place_of_a_wrong_element_is_named() -> None:
    for codec in (PAIR, FEW):
        with pytest.raises(Refusal) as raised:
            codec.decode([1, 77])
        assert raised.value.path == ["1"]


@pytest.mark.parametrize(
    ("codec", "payload"),
    [
        *((PAIR, [3]), (PAIR, None), (FLAT_PAIR, [3]), (FLAT_PAIR, {}), (FEW, "123"), (FEW, [1, 2, 3, 4])),
        *((PADDED, []), (PADDED, [1.0] * 4), (PADDED, [0.0]), (LEGAL, {}), (LEGAL, [7]), (LEGAL, [True])),
    ],
)
def test_a_payload_outside_is_not_read(codec: Codec, payload: Any) -> None:
    with pytest.raises(Refusal):
        codec.decode(payload)


@pytest.mark.parametrize(
    ("codec", "value"),
    [
        *((PAIR, (1, 2)), (FEW, 3), (STACKED, None), (PADDED, [1.0]), (PADDED, {"data": [1.0], "mask": [1]})),
        (PADDED, {"data": [4, 5, 6], "mask": [0.5, 0, 0]}),
        *((LEGAL, [0, 1]), (LEGAL, [0, 1, 2, 0])),
    ],
)
def test_a_value_outside_is_not_written(codec: Codec, value: Any) -> None:
    with pytest.raises(Refusal):
        codec.encode(value)


@pytest.mark.parametrize(
    "value",
    [
        {"data": [None, None, None], "mask": [1, 0, 0]},
        {"data": ["4", "5", "6"], "mask": [1, 0, 0]},
        {"data": [4, 5, 6], "mask": [1, 0, 0], "zzz": 1},
        {"data": [4, 5, 6]},
    ],
)
def test_what_is_no_data_and_mask_of_numbers_is_not_written(value: Any) -> None:
    with pytest.raises(Refusal, match="data"):
        PADDED.encode(value)
