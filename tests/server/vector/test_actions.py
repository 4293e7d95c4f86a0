from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.errors import InvalidAction
from openenv_gym_protocol.root_field import ACTION_KEYS
from openenv_gym_protocol.vector.frames import Batch
from openenv_gym_protocol.vector.payloads import PayloadColumns, payload_columns
from openenv_gym_server.vector.actions import LaneActions

NUMBER = {"type": "Discrete", "n": 3, "start": -1}
BOX = {"type": "Box", "low": -1.0, "high": 1.0, "shape": [2], "dtype": "float32"}
BOTH = {"type": "Dict", "spaces": {"move": NUMBER, "force": BOX}}


def columns(space: dict[str, Any], **fields: Any) -> PayloadColumns:
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    found = payload_columns(space, schema, ACTION_KEYS, of_action=True)
    assert found is not None
    return found


def whole(*numbers: int) -> LaneActions:
    batch = Batch(columns=[np.array(numbers, "<i8").tobytes()])
    return LaneActions(batch, len(numbers), columns(NUMBER, move={"type": "integer"}))


def forces(rows: list[list[float]]) -> LaneActions:
    batch = Batch(columns=[np.array(rows, "<f4").tobytes()])
    return LaneActions(batch, len(rows), columns(BOX, force={"type": "array"}))


def test_fields_are_those_of_the_model() -> None:
    actions = whole(-1, 0, 1)
    assert [actions.fields(position) for position in range(3)] == [{"move": -1}, {"move": 0}, {"move": 1}]
    assert forces([[0.5, -1.0]]).fields(0) == {"force": [0.5, -1.0]}


def test_values_are_those_of_the_space() -> None:
    number = whole(-1, 1).value(1)
    assert (type(number), number) == (int, 1)
    force = forces([[0.5, -1.0], [0.25, 1.0]]).value(1)
    assert (force.dtype, force.tolist()) == (np.float32, [0.25, 1.0])


def test_the_arrays_of_a_value_are_the_environment_own_to_change() -> None:
    actions = forces([[0.5, -1.0], [0.25, 1.0]])
    actions.value(0)[:] = 7.0
    assert actions.value(1).tolist() == [0.25, 1.0]


def test_a_value_of_several_leaves_is_put_together() -> None:
    both = columns(BOTH, move={"type": "integer"}, force={"type": "array"})
    batch = Batch(columns=[np.array([1, 0], "<i8").tobytes(), np.array([[0, 1], [1, 0]], "<f4").tobytes()])
    value = LaneActions(batch, 2, both).value(1)
    assert (value["move"], value["force"].tolist()) == (0, [1.0, 0.0])


@pytest.mark.parametrize(
    "actions", [whole(0, 2, 1), forces([[0, 0], [0, 1.5], [0, 1]]), forces([[0, 0], [0, np.nan], [0, 1]])]
)
@pytest.mark.parametrize("read", [LaneActions.fields, LaneActions.value])
def test_an_action_outside_its_space_is_refused_and_the_others_are_not(actions: LaneActions, read: Any) -> None:
    for position in (0, 2):
        read(actions, position)
    with pytest.raises(InvalidAction, match="outside its space"):
        read(actions, 1)


def test_what_came_as_a_value_has_to_be_a_map_of_fields() -> None:
    actions = LaneActions(Batch(values=[{"move": 1}, 3]), 2, None)
    assert actions.fields(0) == {"move": 1}
    with pytest.raises(InvalidAction, match="map of its model's fields"):
        actions.fields(1)
