"""Which field of a model a declared space is about."""

from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.errors import SchemaMismatch
from openenv_gym_protocol.root_field import ACTION_KEYS, OBSERVATION_KEYS, root_field


def schema(*names: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"properties": {name: {} for name in names}, "required": list(required)}


@pytest.mark.parametrize(
    ("keys", "of", "expected"),
    [
        (None, schema("x", "metadata"), "x"),
        (None, schema("x", "done", "reward", "metadata", required=("done",)), "x"),
        (None, schema("x", "y", required=("y",)), "y"),
        (["a"], schema("x"), "x"),
        (["x"], schema("x"), None),
        (["x"], schema("x", "y"), None),
        (["x", "y"], schema("x"), "x"),
        (["x"], schema("metadata"), None),
        (["x"], {}, None),
        ([], schema("x", "y"), None),
    ],
)
def test_the_field_of_a_space(keys: list[str] | None, of: dict[str, Any], expected: str | None) -> None:
    assert root_field(keys, of, OBSERVATION_KEYS) == expected


@pytest.mark.parametrize(
    ("keys", "of"),
    [(None, {}), (None, schema("x", "y")), (["z"], schema("x", "y", required=("x", "y"))), (None, schema("metadata"))],
)
def test_a_space_of_no_field(keys: list[str] | None, of: dict[str, Any]) -> None:
    with pytest.raises(SchemaMismatch):
        root_field(keys, of, ACTION_KEYS)


def test_what_travels_beside_an_action_is_less_than_beside_an_observation() -> None:
    assert root_field(None, schema("done", "metadata"), ACTION_KEYS) == "done"
