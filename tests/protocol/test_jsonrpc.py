"""The JSON-RPC envelope of OpenEnv's MCP subset."""

from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.jsonrpc import METHOD_NOT_FOUND, JsonRpcRequest, Refusal, decode_call, result_response
from pydantic import ValidationError


@pytest.mark.parametrize("request_id", [None, 1, "a"])
def test_a_request_has_a_string_a_number_or_no_id(request_id: Any) -> None:
    request = JsonRpcRequest.model_validate({"jsonrpc": "2.0", "method": "tools/list", "id": request_id})
    assert request.id == request_id
    assert request.params == {}


@pytest.mark.parametrize(
    "body",
    [
        {"method": "m"},
        {"jsonrpc": "1.0", "method": "m"},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "method": "m", "params": None},
        {"jsonrpc": "2.0", "method": "m", "params": []},
        {"jsonrpc": "2.0", "method": "m", "id": 1.5},
        {"jsonrpc": "2.0", "method": "m", "extra": 1},
    ],
)
def test_a_wrong_request_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        JsonRpcRequest.model_validate(body)


def test_a_response_has_a_result_or_an_error_and_the_requests_id() -> None:
    assert result_response("a", {"tools": []}) == {"jsonrpc": "2.0", "id": "a", "result": {"tools": []}}
    assert Refusal(METHOD_NOT_FOUND, "no such method").response(7) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32601, "message": "no such method", "data": None},
    }


def test_an_error_carries_its_data() -> None:
    assert Refusal(-32000, "full", data={"max_sessions": 2}).response()["error"]["data"] == {"max_sessions": 2}


@pytest.mark.parametrize(("text", "code"), [("{bad", -32700), ("", -32700), ("[]", -32700), ('"x"', -32700)])
def test_what_is_no_json_object_cannot_be_parsed(text: str, code: int) -> None:
    with pytest.raises(Refusal) as caught:
        decode_call(text)
    assert caught.value.response()["id"] is None
    assert caught.value.error.code == code


@pytest.mark.parametrize(("told", "known"), [("7", 7), ('"a"', "a"), ("1.5", None), ("true", None), ("null", None)])
def test_a_refusal_bears_the_id_of_the_wrong_call(told: str, known: Any) -> None:
    with pytest.raises(Refusal) as caught:
        decode_call(f'{{"jsonrpc":"2.0","id":{told}}}')
    response = caught.value.response()
    assert (response["id"], response["error"]["code"]) == (known, -32600)
    assert response["error"]["message"] == "Invalid request: method: Field required"


def test_only_a_call_without_an_id_is_a_notification() -> None:
    assert decode_call('{"jsonrpc":"2.0","method":"m"}').is_notification
    assert not decode_call('{"jsonrpc":"2.0","method":"m","id":null}').is_notification
