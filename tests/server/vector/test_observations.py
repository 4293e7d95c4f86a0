"""Observations are packed as the model writes them; most without asking it."""

from __future__ import annotations

import struct
from typing import Annotated, Any

import numpy as np
import pytest
from openenv_gym_protocol.errors import InvalidObservation
from openenv_gym_protocol.root_field import OBSERVATION_KEYS
from openenv_gym_protocol.vector.payloads import payload_columns
from openenv_gym_server.serialisation import leaves_arrays
from openenv_gym_server.vector.observations import ObservationPacker
from pydantic import BaseModel, PlainSerializer

BOX = {"type": "Box", "low": "-inf", "high": "inf", "shape": [2], "dtype": "float32"}
SCHEMA = {"type": "object", "properties": {"values": {"type": "array"}}, "required": ["values"]}

asked: list[Any] = []


def doubled(value: Any) -> Any:
    asked.append(value)
    return [2.0 * number for number in value]


@leaves_arrays
def halved(value: Any) -> Any:
    asked.append(value)
    return value if isinstance(value, np.ndarray) else [number / 2 for number in value]


@leaves_arrays
def half(value: Any) -> Any:
    return value / 2


class Plain(BaseModel):
    values: list[float]


class Doubled(BaseModel):
    values: Annotated[Any, PlainSerializer(doubled)]


class Halved(BaseModel):
    values: Annotated[Any, PlainSerializer(halved)]


class HalvedEach(BaseModel):
    values: list[Annotated[Any, PlainSerializer(half)]]


@pytest.fixture
def packer() -> ObservationPacker:
    asked.clear()
    columns = payload_columns(BOX, SCHEMA, OBSERVATION_KEYS)
    assert columns is not None
    return ObservationPacker(columns)


def test_what_a_model_writes_as_it_is_is_taken_as_it_is(packer: ObservationPacker) -> None:
    assert packer.pack(Plain(values=[1.0, 2.0])) == (struct.pack("<2f", 1, 2),)


def test_a_serialiser_is_asked_whatever_class_came_before(packer: ObservationPacker) -> None:
    for _ in range(2):
        assert packer.pack(Plain(values=[1.0, 2.0])) == (struct.pack("<2f", 1, 2),)
        assert packer.pack(Doubled(values=[1.0, 2.0])) == (struct.pack("<2f", 2, 4),)
    assert len(asked) == 2


def test_a_serialiser_that_leaves_arrays_is_not_asked_for_those_of_the_space_alone(packer: ObservationPacker) -> None:
    assert packer.pack(Halved(values=np.array([1, 2], np.float32))) == (struct.pack("<2f", 1, 2),)
    assert not asked
    assert packer.pack(Halved(values=np.array([1, 2], np.int64))) == (struct.pack("<2f", 1, 2),)
    assert packer.pack(Halved(values=[2.0, 4.0])) == (struct.pack("<2f", 1, 2),)
    assert len(asked) == 2


def test_a_serialiser_of_a_lists_elements_is_asked_for_each(packer: ObservationPacker) -> None:
    assert packer.pack(HalvedEach(values=[2.0, 4.0])) == (struct.pack("<2f", 1, 2),)


def test_what_does_not_fit_names_the_fault(packer: ObservationPacker) -> None:
    with pytest.raises(InvalidObservation, match="1 elements where 2 belong"):
        packer.pack(Plain(values=[1.0]))
