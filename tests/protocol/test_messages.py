"""The messages: requests are closed, replies are open, and every request knows its answer."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from openenv_gym_protocol.messages import (
    ANSWER_OF,
    OTHER_REPLY_TYPES,
    REQUEST_TYPES,
    AnyRequest,
    CloseRequest,
    ErrorReply,
    McpReply,
    McpRequest,
    ObservationData,
    ObservationReply,
    OtherReply,
    Request,
    ResetRequest,
    StateReply,
    StateRequest,
    StepRequest,
    WrongField,
)
from pydantic import ValidationError

REQUESTS: list[Request] = [
    ResetRequest(data={"seed": 1}),
    StepRequest(data={"a": 1}),
    StateRequest(),
    CloseRequest(),
    McpRequest(data={"jsonrpc": "2.0", "method": "tools/list"}),
]


def test_the_tables_hold_every_message_under_its_own_type() -> None:
    assert set(REQUEST_TYPES.values()) == set(get_args(Request))
    assert set(OTHER_REPLY_TYPES.values()) == set(get_args(OtherReply))
    for table in (REQUEST_TYPES, OTHER_REPLY_TYPES):
        for name, model in table.items():
            assert model.model_fields["type"].default == name


def test_every_request_but_close_has_an_answer_that_is_no_error() -> None:
    assert set(ANSWER_OF) == set(get_args(AnyRequest))
    assert [model for model, answer in ANSWER_OF.items() if answer is None] == [CloseRequest]
    assert ErrorReply not in ANSWER_OF.values()


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.type)
def test_a_request_refuses_another_top_level_key(request_: Request) -> None:
    with pytest.raises(ValidationError):
        type(request_).model_validate({**request_.model_dump(), "timeout_s": 3})


@pytest.mark.parametrize("model", [StepRequest, McpRequest])
def test_step_and_mcp_need_data(model: type[Request]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate({"type": model.model_fields["type"].default})


def test_a_reset_without_data_has_an_empty_object() -> None:
    assert ResetRequest.model_validate({"type": "reset"}).data == {}


@pytest.mark.parametrize("data", [None, [], "seed", 3])
def test_the_data_of_a_reset_must_be_an_object(data: Any) -> None:
    with pytest.raises(ValidationError):
        ResetRequest.model_validate({"type": "reset", "data": data})


@pytest.mark.parametrize("model", [StateRequest, CloseRequest])
def test_state_and_close_take_no_data(model: type[Request]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate({"type": model.model_fields["type"].default, "data": {}})


def test_replies_keep_keys_that_a_later_server_adds() -> None:
    assert ObservationReply({"observation": {}, "new": 1}).data.fields == {"observation": {}, "new": 1}
    assert StateReply.model_validate({"data": {}, "new": 1}).model_extra == {"new": 1}
    assert McpReply.model_validate({"data": {}, "new": 1}).model_extra == {"new": 1}


@pytest.mark.parametrize("reward", [None, True, 3, 3.0, -0.5])
def test_a_reward_keeps_its_json_type(reward: Any) -> None:
    read = ObservationData({"observation": {}, "reward": reward}).reward
    assert (type(read), read) == (type(reward), reward)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("reward", "1"),
        ("reward", []),
        ("done", "yes"),
        ("done", 1),
        ("done", None),
        ("metadata", []),
        ("observation", None),
        ("observation", []),
    ],
)
def test_a_field_of_a_reply_of_another_type_is_refused_and_not_converted(key: str, value: Any) -> None:
    with pytest.raises(WrongField) as raised:
        ObservationData({"observation": {}, key: value})
    assert raised.value.place == f"data.{key}"


@pytest.mark.parametrize(
    ("data", "metadata"),
    [
        ({"observation": {"metadata": {"a": 1}}, "metadata": {"b": 2}}, {"b": 2}),
        ({"observation": {"metadata": {"a": 1}}}, {"a": 1}),
        ({"observation": {"metadata": {"a": 1}}, "metadata": None}, {"a": 1}),
        ({"observation": {"metadata": "text"}}, {}),
        ({"observation": {}}, {}),
    ],
    ids=["on top", "inside", "null on top", "not an object", "nowhere"],
)
def test_metadata_is_found_wherever_a_servers_version_puts_it(data: dict[str, Any], metadata: dict[str, Any]) -> None:
    assert ObservationData(data).all_metadata == metadata
