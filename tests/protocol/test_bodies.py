"""The HTTP bodies: what is checked on every transport, and what a server says of itself."""

from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.bodies import (
    Health,
    Metadata,
    ResetKeys,
    Schemas,
    SplitBody,
    StepBody,
    TaskBody,
    TaskRangeBody,
)
from pydantic import BaseModel, ValidationError


@pytest.mark.parametrize(
    "keys", [{}, {"seed": None}, {"seed": 0}, {"seed": "7"}, {"seed": 2**70}, {"episode_id": "e"}, {"episode_id": None}]
)
def test_right_reset_keys_are_taken(keys: dict[str, Any]) -> None:
    ResetKeys.model_validate(keys)


@pytest.mark.parametrize(
    "keys", [{"seed": -1}, {"seed": "abc"}, {"seed": 1.5}, {"episode_id": "e" * 256}, {"episode_id": 5}]
)
def test_wrong_reset_keys_are_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ResetKeys.model_validate(keys)


def test_other_reset_keys_are_kept_as_they_are() -> None:
    assert ResetKeys.model_validate({"level": {"hard": True}}).model_extra == {"level": {"hard": True}}


@pytest.mark.parametrize(
    "body",
    [{}, {"action": 3}, {"action": {}, "timeout_s": 0}, {"action": {}, "request_id": "r" * 256}],
    ids=["no action", "not an object", "no time", "long id"],
)
def test_a_wrong_step_body_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        StepBody.model_validate(body)


def test_a_step_body_keeps_the_environments_own_keys() -> None:
    assert StepBody.model_validate({"action": {"a": 1}, "render": True}).model_extra == {"render": True}


def test_metadata_always_has_its_six_keys() -> None:
    assert list(Metadata(name="E", description="E environment").model_dump()) == [
        "name",
        "description",
        "readme_content",
        "version",
        "author",
        "documentation_url",
    ]


def test_health_is_one_of_three_words() -> None:
    assert Health().model_dump() == {"status": "healthy"}
    with pytest.raises(ValidationError):
        Health.model_validate({"status": "fine"})


def test_a_stock_schema_says_nothing_of_our_extensions() -> None:
    schemas = Schemas.model_validate({"action": {}, "observation": {}, "state": {}})
    assert (schemas.reset_observation, schemas.spaces, schemas.reset_options, schemas.info_keys, schemas.seeding) == (
        None,
        None,
        None,
        None,
        None,
    )


def test_our_extensions_are_read_and_written_by_their_wire_names() -> None:
    body = {
        "action": {},
        "observation": {},
        "state": {},
        "reset_observation": {},
        "x-gymnasium-spaces": {"action": {"type": "Discrete", "n": 2}, "observation": {"type": "Discrete", "n": 3}},
        "x-reset-options": {"level": {"type": "string"}},
        "x-info-keys": ["score"],
        "x-render-modes": ["ansi"],
        "x-render-fps": 4,
        "x-openenv-gym": {"seeded_stream": True, "seed_supported": True},
    }
    schemas = Schemas.model_validate(body)
    assert schemas.spaces is not None
    assert schemas.spaces.action == {"type": "Discrete", "n": 2}
    assert schemas.seeding is not None
    assert schemas.seeding.seeded_stream is True
    assert schemas.model_dump(by_alias=True) == body


def test_a_later_servers_schema_key_is_kept() -> None:
    schemas = Schemas.model_validate({"action": {}, "observation": {}, "tasks": [1]})
    assert schemas.model_extra == {"tasks": [1]}


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (SplitBody, {"split": "train"}),
        (TaskBody, {"split": "train", "index": -1}),
        (TaskRangeBody, {"split": "train", "start": None, "stop": 3}),
    ],
)
def test_a_task_body_refuses_another_key(model: type[BaseModel], body: dict[str, Any]) -> None:
    model.model_validate(body)
    with pytest.raises(ValidationError):
        model.model_validate({**body, "other": 1})
