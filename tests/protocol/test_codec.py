"""Frames to messages and back; every wrong frame is an error that names what is wrong."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openenv_gym_protocol import codec, errors, json_codec
from openenv_gym_protocol.messages import (
    CloseRequest,
    ErrorData,
    ErrorReply,
    McpReply,
    McpRequest,
    ObservationReply,
    Request,
    ResetRequest,
    StateReply,
    StateRequest,
    StepRequest,
)
from pydantic import BaseModel, ValidationError, field_validator

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(texts, children, max_size=4),
    max_leaves=15,
)
objects = st.dictionaries(texts, values, max_size=5)
requests = (
    st.builds(ResetRequest, data=objects)
    | st.builds(StepRequest, data=objects)
    | st.builds(McpRequest, data=objects)
    | st.just(StateRequest())
    | st.just(CloseRequest())
)


@given(requests)
def test_a_request_written_by_one_end_is_read_by_the_other(request: Request) -> None:
    assert repr(codec.decode_request(codec.encode_request(request))) == repr(request)


@given(requests)
def test_a_request_has_exactly_the_keys_of_the_wire(request: Request) -> None:
    keys = set(json.loads(codec.encode_request(request)))
    assert keys == ({"type"} if isinstance(request, StateRequest | CloseRequest) else {"type", "data"})


def test_numpy_goes_into_a_request_as_numbers() -> None:
    frame = codec.encode_request(StepRequest(data={"move": np.array([1, 2]), "force": np.float32(0.5)}))
    assert json.loads(frame)["data"] == {"move": [1, 2], "force": 0.5}


@pytest.mark.parametrize(
    ("request_", "refusal"),
    [
        (StepRequest(data={"text": "\ud800"}), errors.InvalidAction),
        (ResetRequest(data={"text": "\ud800"}), errors.InvalidMessage),
        (StepRequest(data={"what": object()}), errors.InvalidAction),
    ],
)
def test_a_request_that_json_cannot_carry_is_the_callers_fault(
    request_: Request, refusal: type[errors.OpenEnvGymError]
) -> None:
    with pytest.raises(refusal):
        codec.encode_request(request_)


@pytest.mark.parametrize(
    ("frame", "refusal"),
    [
        ("{bad", errors.InvalidJson),
        ("", errors.InvalidJson),
        (b'{"type":"state"}', errors.InvalidJson),
        ('{"type":"step","data":{"a":"\\ud800"}}', errors.InvalidJson),
        ('{"type":"step","data":' + "[" * 9999 + "]" * 9999 + "}", errors.InvalidJson),
        ("[1]", errors.InvalidMessage),
        ('"x"', errors.InvalidMessage),
        ("null", errors.InvalidMessage),
        ("true", errors.InvalidMessage),
        ("5", errors.InvalidMessage),
        ("NaN", errors.InvalidMessage),
        ('{"type":"step"}', errors.InvalidMessage),
        ('{"type":"step","data":[]}', errors.InvalidMessage),
        ('{"type":"step","data":{},"timeout_s":1}', errors.InvalidMessage),
        ('{"type":"reset","data":null}', errors.InvalidMessage),
        ('{"type":"state","data":{}}', errors.InvalidMessage),
        ("{}", errors.UnknownMessageType),
        ('{"type":"bogus"}', errors.UnknownMessageType),
        ('{"type":[]}', errors.UnknownMessageType),
        ('{"type":null}', errors.UnknownMessageType),
    ],
)
def test_a_wrong_request_is_refused_with_its_kind_of_error(
    frame: str | bytes, refusal: type[errors.OpenEnvGymError]
) -> None:
    with pytest.raises(refusal) as caught:
        codec.decode_request(frame)
    assert caught.value.code is not None


@given(st.text() | st.binary() | values.map(lambda value: json_codec.encode(value).decode()))
def test_no_frame_makes_the_servers_reader_raise_anything_else(frame: str | bytes) -> None:
    # These are answered; anything else would end the session.
    with suppress(errors.InvalidJson, errors.InvalidMessage, errors.UnknownMessageType):
        codec.decode_request(frame)


@given(st.text() | st.binary() | values.map(lambda value: json_codec.encode(value).decode()))
def test_no_frame_makes_the_clients_reader_raise_anything_else(frame: str | bytes) -> None:
    with suppress(errors.ProtocolFailure):
        codec.decode_reply(frame)


def test_the_refusal_of_a_request_names_the_wrong_fields() -> None:
    with pytest.raises(errors.InvalidMessage) as caught:
        codec.decode_request('{"type":"step","data":{},"request_id":"r"}')
    (fault,) = caught.value.errors
    assert (fault["type"], fault["loc"], fault["input"]) == ("extra_forbidden", ("request_id",), "r")


def test_what_a_stranger_sent_is_not_repeated_at_length() -> None:
    with pytest.raises(errors.UnknownMessageType) as asked:
        codec.decode_request(json.dumps({"type": "x" * 100_000}))
    with pytest.raises(errors.UnexpectedReply) as answered:
        codec.decode_reply(json.dumps({"type": "x" * 100_000}))
    assert len(asked.value.message) < 300
    assert len(answered.value.message) < 300


REPLIES = [
    ('{"type":"observation","data":{"observation":{"a":1},"reward":1,"done":true}}', ObservationReply),
    ('{"type":"state","data":{"step_count":1}}', StateReply),
    ('{"type":"mcp","data":{"jsonrpc":"2.0","id":1,"result":{}}}', McpReply),
    ('{"type":"error","data":{"message":"m","code":"EXECUTION_ERROR"}}', ErrorReply),
    ('{"type":"error","data":{}}', ErrorReply),
]


@given(objects)
def test_a_step_that_is_written_ahead_is_the_same_frame(data: dict[str, Any]) -> None:
    assert codec.encode_request(codec.written_step(data)) == codec.encode_request(StepRequest(data=data))


def test_what_cannot_be_written_ahead_is_an_invalid_action() -> None:
    with pytest.raises(errors.InvalidAction):
        codec.written_step({"text": "\ud800"})


@pytest.mark.parametrize(("frame", "model"), REPLIES)
def test_each_reply_of_the_wire_is_read_as_its_kind(frame: str, model: type) -> None:
    assert type(codec.decode_reply(frame)) is model


@pytest.mark.parametrize(
    ("frame", "refusal"),
    [
        ("not json", errors.InvalidJson),
        (b"{}", errors.InvalidJson),
        ("[]", errors.UnexpectedReply),
        ("{}", errors.UnexpectedReply),
        ('{"type":[]}', errors.UnexpectedReply),
        ('{"type":"hello"}', errors.UnexpectedReply),
        ('{"type":"observation"}', errors.UnexpectedReply),
        ('{"type":"observation","data":{"observation":[1]}}', errors.UnexpectedReply),
        ('{"type":"observation","data":{"observation":{},"reward":"1"}}', errors.UnexpectedReply),
        ('{"type":"state","data":[]}', errors.UnexpectedReply),
        ('{"type":"error","data":{"message":null}}', errors.UnexpectedReply),
    ],
)
def test_a_wrong_reply_is_a_protocol_failure(frame: str | bytes, refusal: type[errors.ProtocolFailure]) -> None:
    with pytest.raises(refusal):
        codec.decode_reply(frame)


def test_a_wrong_reply_is_told_with_the_place() -> None:
    with pytest.raises(errors.UnexpectedReply, match=r"data\.observation"):
        codec.decode_reply('{"type":"observation","data":{"observation":3}}')


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("INVALID_JSON", errors.InvalidJson),
        ("UNKNOWN_TYPE", errors.UnknownMessageType),
        ("VALIDATION_ERROR", errors.InvalidMessage),
        ("EXECUTION_ERROR", errors.ExecutionError),
        ("CAPACITY_REACHED", errors.CapacityReached),
        ("FACTORY_ERROR", errors.FactoryError),
        ("SESSION_ERROR", errors.SessionError),
        ("SOMETHING_NEW", errors.ProtocolFailure),
        ("", errors.ProtocolFailure),
    ],
)
def test_each_code_becomes_its_exception_with_the_servers_text(code: str, kind: type[errors.OpenEnvGymError]) -> None:
    error = codec.error_from_reply(ErrorData(message="what happened", code=code))
    assert type(error) is kind
    assert "what happened" in error.message


def test_every_code_of_the_wire_is_mapped() -> None:
    for code in errors.ErrorCode:
        assert codec.error_from_reply(ErrorData(message="m", code=code)).code is code


def test_an_error_without_a_text_still_says_something() -> None:
    assert "EXECUTION_ERROR" in codec.error_from_reply(ErrorData(code="EXECUTION_ERROR")).message


def test_a_full_server_tells_its_numbers() -> None:
    data = ErrorData.model_validate(
        {"message": "full", "code": "CAPACITY_REACHED", "active_sessions": 2, "max_sessions": 2}
    )
    error = codec.error_from_reply(data)
    assert isinstance(error, errors.CapacityReached)
    assert (error.active_sessions, error.max_sessions) == (2, 2)


def test_a_failed_construction_tells_its_factory() -> None:
    error = codec.error_from_reply(
        ErrorData.model_validate({"message": "no", "code": "FACTORY_ERROR", "factory_name": "Probe"})
    )
    assert isinstance(error, errors.FactoryError)
    assert error.factory_name == "Probe"
    assert "env.unwrapped.logs()" in error.message


def test_extra_keys_of_another_type_are_dropped() -> None:
    full = codec.error_from_reply(
        ErrorData.model_validate(
            {"message": "m", "code": "CAPACITY_REACHED", "active_sessions": "2", "max_sessions": True}
        )
    )
    failed = codec.error_from_reply(
        ErrorData.model_validate({"message": "m", "code": "FACTORY_ERROR", "factory_name": ["x"]})
    )
    invalid = codec.error_from_reply(
        ErrorData.model_validate({"message": "m", "code": "VALIDATION_ERROR", "errors": "x"})
    )
    assert isinstance(full, errors.CapacityReached)
    assert (full.active_sessions, full.max_sessions) == (None, None)
    assert isinstance(failed, errors.FactoryError)
    assert failed.factory_name is None
    assert isinstance(invalid, errors.InvalidMessage)
    assert invalid.errors == []


def test_the_faults_of_a_validation_are_kept_and_told() -> None:
    faults = [{"type": "missing", "loc": ["a", index], "msg": "Field required"} for index in range(7)]
    data = ErrorData.model_validate({"message": "Invalid message", "code": "VALIDATION_ERROR", "errors": [*faults, 3]})
    error = codec.error_from_reply(data)
    assert isinstance(error, errors.InvalidMessage)
    assert error.errors == faults
    assert "a.0: Field required" in error.message
    assert "2 more" in error.message
    assert "a.5" not in error.message


class Model(BaseModel):
    """A model with a validator that raises."""

    name: str

    @field_validator("name")
    @classmethod
    def _check(cls, value: str) -> str:
        if value == "forbidden":
            raise ValueError("this name is taken")
        return value


@pytest.mark.parametrize("data", [{"name": "forbidden"}, {}, {"name": float("nan")}, {"name": np.array([1])}])
def test_the_faults_of_a_model_can_always_be_sent(data: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate(data)
    faults = codec.faults_of(caught.value)
    assert json_codec.decode(json_codec.encode(faults, non_finite="null"))[0]["loc"] == ["name"]


def test_a_validators_own_exception_is_told_by_its_text() -> None:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"name": "forbidden"})
    assert codec.faults_of(caught.value)[0]["ctx"] == {"error": "this name is taken"}


@pytest.mark.parametrize("where", [5, None, "field", ["a", 1], {"x": 1}])
def test_a_strangers_fault_is_told_wherever_it_says_it_is(where: Any) -> None:
    data = ErrorData.model_validate(
        {"code": "VALIDATION_ERROR", "message": "no", "errors": [{"loc": where, "msg": "bad"}]}
    )
    error = codec.error_from_reply(data)
    assert isinstance(error, errors.InvalidMessage)
    assert "bad" in error.message
