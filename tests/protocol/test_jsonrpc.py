"""The JSON-RPC envelope of OpenEnv's MCP subset."""

from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.jsonrpc import METHOD_NOT_FOUND, JsonRpcRequest, error_response, result_response
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
    assert error_response(7, METHOD_NOT_FOUND, "no such method") == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32601, "message": "no such method", "data": None},
    }


def test_an_error_carries_its_data() -> None:
    assert error_response(None, -32000, "full", {"max_sessions": 2})["error"]["data"] == {"max_sessions": 2}
