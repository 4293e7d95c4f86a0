"""Columns hold the values of the declared space, and become what the standard wire's payloads become."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import Space, spaces
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import given, settings
from hypothesis import strategies as st
from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import InvalidAction, InvalidObservation, ProtocolFailure
from openenv_gym_protocol.gymnasium_spaces import space_to_data
from openenv_gym_protocol.root_field import OBSERVATION_KEYS
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.array_data import ArrayData
from openenv_gym_protocol.vector.frames import Batch, Opened, Rows, Step
from openenv_gym_protocol.vector.payloads import payload_columns

from openenv_gym.bridge.columns import IDLE, ActionWriter, ObservationReader, plain, with_arrays
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.schema.derived import View
from tests.support.space_strategies import every_space

NUMBER, LIST = {"type": "number"}, {"type": "array"}

CASES: list[tuple[Space[Any], dict[str, Any]]] = [
    (spaces.Box(-1, 1, (2, 3), np.float32), {"seen": LIST}),
    (spaces.Box(-np.inf, np.inf, (), np.float64), {"seen": NUMBER}),
    (spaces.Box(0, 255, (2, 2, 3), np.uint8), {"seen": {"type": "string", "contentEncoding": "base64"}}),
    (spaces.Discrete(5, start=-2), {"seen": {"type": "integer"}}),
    (spaces.Discrete(3), {"seen": {"enum": ["red", "green", "blue"]}}),
    (spaces.MultiDiscrete([3, 4], start=[1, 0]), {"seen": LIST}),
    (spaces.MultiBinary(4), {"seen": {"type": "array", "items": {"type": "boolean"}}}),
    (spaces.MultiBinary(4), {"seen": {"type": "array", "uniqueItems": True}}),
    (
        spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Tuple((spaces.Box(0, 1, (2,)), spaces.Discrete(3)))}),
        {"b": {"type": "integer"}, "a": LIST},
    ),
]


def interface(space: Space[Any], fields: dict[str, Any], view: View | None = None) -> Interface:
    model = {"type": "object", "properties": fields, "required": list(fields)}
    data = space_to_data(space)
    said = {"action": model, "observation": model, "x-gymnasium-spaces": {"action": data, "observation": data}}
    return Interface(Schemas.model_validate(said), view)


def opened(space: Space[Any]) -> Opened:
    data = space_to_data(space)
    return Opened(
        id=0, lanes=[], action_space=data, observation_space=data, action_columns=True, observation_columns=True
    )


def read(reader: ObservationReader, batch: Batch, rows: int) -> list[Any]:
    leaves = reader.leaves(batch, rows)
    if leaves is None:
        return reader.values(batch, range(rows), rows)
    assert reader.outside(leaves) == []
    return [reader.row(leaves, row) for row in range(rows)]


@pytest.mark.parametrize(("space", "fields"), CASES)
@pytest.mark.parametrize("view", ["flat", None])
def test_a_column_becomes_what_the_payload_becomes(
    space: Space[Any], fields: dict[str, Any], view: View | None
) -> None:
    known = interface(space, fields, view)
    exact = interface(space, fields)
    reader = ObservationReader(known, opened(space))
    columns = payload_columns(space_to_data(space), exact.schemas.observation, OBSERVATION_KEYS)
    assert columns is not None
    space.seed(3)
    payloads = [exact.encode_action(space.sample()) for _ in range(4)]
    batch = Batch(columns=columns.layout.stack([columns.pack(payload) for payload in payloads]))
    seen = read(reader, batch, 4)
    expected = [known.decode_observation(payload) for payload in payloads]
    assert data_equivalence(seen, expected, exact=True)
    assert all(value in known.observation_space for value in seen)


@pytest.mark.parametrize(("space", "fields"), CASES)
@pytest.mark.parametrize("view", ["flat", None])
def test_an_action_is_written_as_its_payload_says(space: Space[Any], fields: dict[str, Any], view: View | None) -> None:
    known = interface(space, fields, view)
    writer = ActionWriter(known, opened(space))
    columns = payload_columns(space_to_data(space), known.schemas.action, OBSERVATION_KEYS)
    assert columns is not None
    known.action_space.seed(5)
    actions = [known.action_space.sample() for _ in range(3)]
    written = writer.batch(writer.write({0: actions[0], 1: IDLE, 2: actions[1], 3: actions[2]}))
    assert written.columns is not None
    unpacked = columns.layout.unpack(written.columns, 4)
    for row, action in zip((0, 2, 3), actions, strict=True):
        assert columns.payload(unpacked[row]) == known.encode_action(action)


@given(every_space(), st.integers(0, 2**31))
@settings(max_examples=200, deadline=None)
def test_samples_of_any_space_travel_in_the_vector_wires_frames_there_and_back(space: Space[Any], seed: int) -> None:
    """An action as columns or a value in a step, and what it said as columns or a value in the answer."""
    known = interface(space, {"seen": {}})
    columns = payload_columns(space_to_data(space), known.schemas.action, OBSERVATION_KEYS)
    said = opened(space)
    said.action_columns = said.observation_columns = columns is not None
    writer, reader = ActionWriter(known, said), ObservationReader(known, said)
    space.seed(seed)
    samples = [space.sample() for _ in range(2)]

    asked = codec.decode_request(
        codec.encode(Step(id=1, lanes=[0, 1], actions=writer.batch(writer.write(dict(enumerate(samples))))))
    )
    assert isinstance(asked, Step)
    if columns is None:
        seen = Batch(values=asked.actions.values)
    else:
        payloads = [columns.payload(value) for value in columns.layout.unpack(asked.actions.columns or (), 2)]
        seen = Batch(columns=columns.layout.stack([columns.pack(payload) for payload in payloads]))

    told = codec.decode_reply(
        codec.encode(Rows(id=1, lanes=[0, 1], observations=seen, rewards=bytes(16), flags=bytes(2)))
    )
    assert isinstance(told, Rows)
    assert told.observations is not None
    assert data_equivalence(read(reader, told.observations, 2), samples, exact=True)


@pytest.mark.parametrize(
    ("space", "action"),
    [
        (spaces.Discrete(3), 3),
        (spaces.Discrete(3), -1),
        (spaces.Discrete(3), 1.5),
        (spaces.Discrete(3), None),
        (spaces.Box(-1, 1, (2,)), [0.0, 1.5]),
        (spaces.Box(-1, 1, (2,)), [0.0, np.nan]),
        (spaces.Box(-1, 1, (2,)), [0.0]),
        (spaces.MultiDiscrete([2, 2]), [0, 2]),
    ],
)
def test_a_wrong_action_is_refused_as_on_the_standard_wire(space: Space[Any], action: Any) -> None:
    known = interface(space, {"seen": LIST})
    space.seed(1)
    with pytest.raises(InvalidAction) as raised:
        ActionWriter(known, opened(space)).write({4: space.sample(), 7: action})
    assert raised.value.lane == 7
    with pytest.raises(InvalidAction):
        known.encode_action(action)


def test_rows_outside_the_space_are_found_and_named() -> None:
    space = spaces.Box(-1, 1, (2,), np.float32)
    reader = ObservationReader(interface(space, {"seen": LIST}), opened(space))
    rows = np.array([[0, 0], [0, np.nan], [1, 1], [2, 0]], np.float32)
    batch = Batch(columns=[rows.tobytes()])
    leaves = reader.leaves(batch, 4)
    assert leaves is not None
    assert reader.outside(leaves) == [1, 3]
    found = reader.values(batch, [1, 3], 4)
    assert [type(error) for error in found] == [InvalidObservation] * 2
    assert "seen" in found[0].message


@pytest.mark.parametrize("batch", [Batch(values=[{}]), Batch(columns=[b""]), Batch(columns=[bytes(8), bytes(8)])])
def test_what_was_not_agreed_on_is_refused(batch: Batch) -> None:
    space = spaces.Box(-1, 1, (2,), np.float32)
    reader = ObservationReader(interface(space, {"seen": LIST}), opened(space))
    with pytest.raises(ProtocolFailure):
        reader.leaves(batch, 1)


def test_columns_of_a_space_that_nobody_states_are_refused() -> None:
    known = interface(spaces.Discrete(2), {"seen": {"type": "integer"}})
    said = Opened(id=0, lanes=[], action_columns=True, observation_columns=True)
    for kind in (ActionWriter, ObservationReader):
        with pytest.raises(ProtocolFailure):
            kind(known, said)


def test_arrays_inside_values_are_lists_as_on_the_standard_wire_or_arrays() -> None:
    data = ArrayData("int16", (2, 2), np.arange(4, dtype="<i2").tobytes())
    assert plain({"a": [data, 1]}) == {"a": [[[0, 1], [2, 3]], 1]}
    (array,) = with_arrays({"a": [data]})["a"]
    assert (array.dtype, array.tolist()) == (np.dtype(np.int16), [[0, 1], [2, 3]])
    array[:] = 0  # it is the caller's own


@pytest.mark.parametrize(
    ("space", "good", "bad"),
    [
        (spaces.Discrete(3, start=1), np.array([1, 3, 2]), np.array([1, 0, 2])),
        (spaces.Box(-1, 1, (2,), np.float32), np.full((3, 2), 0.5), np.array([[0, 0], [0, np.nan], [0, 0]])),
        (spaces.MultiBinary(2), np.ones((3, 2), np.int8), np.array([[0, 1], [2, 0], [1, 1]])),
    ],
)
def test_an_array_of_actions_is_written_as_its_rows_are(space: Space[Any], good: Any, bad: Any) -> None:
    writer = ActionWriter(interface(space, {"seen": LIST if space.shape else NUMBER}), opened(space))
    written = writer.write_array(good, [])
    assert written is not None
    assert writer.batch(written) == writer.batch(writer.write(dict(enumerate(good))))
    before = written.copy()
    good[...] = 0
    assert np.array_equal(written, before)
    assert writer.write_array(bad, []) is None
    idle = writer.write_array(bad, [1])
    assert idle is not None
    assert idle[[0, 2]].tolist() == bad[[0, 2]].tolist()


def test_an_array_of_another_kind_or_shape_is_looked_at_row_by_row() -> None:
    writer = ActionWriter(interface(spaces.Discrete(3), {"seen": NUMBER}), opened(spaces.Discrete(3)))
    for actions in (np.array([0.0, 1.0]), np.array([True, False]), np.zeros((2, 1), np.int64)):
        assert writer.write_array(actions, []) is None
