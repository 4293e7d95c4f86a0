"""The JSON-RPC 2.0 envelope that OpenEnv's MCP subset travels in."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openenv_gym_protocol import json_codec
from openenv_gym_protocol.errors import InvalidJson

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_ERROR = -32000
"""Capacity reached, or the environment could not be constructed."""


class JsonRpcRequest(BaseModel):
    """One call."""

    model_config = ConfigDict(extra="forbid")

    jsonrpc: Literal["2.0"]
    method: str
    params: dict[str, Any] = Field(default_factory=dict)
    id: str | int | None = None

    @property
    def is_notification(self) -> bool:
        """It has no ``id`` at all, and wants no answer."""
        return "id" not in self.model_fields_set


class JsonRpcError(BaseModel):
    """Why a call failed."""

    code: int
    message: str
    data: dict[str, Any] | None = None


class Refusal(Exception):
    """A call that is answered with an error.

    Attributes:
        error: What the answer says.
        request_id: Which call it answers, where that is known.
    """

    def __init__(
        self, code: int, message: str, *, request_id: str | int | None = None, data: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.error = JsonRpcError(code=code, message=message, data=data)
        self.request_id = request_id

    def response(self, request_id: str | int | None = None) -> dict[str, Any]:
        """The answer.

        Args:
            request_id: Which call it answers, where the refusal does not know.
        """
        known = request_id if self.request_id is None else self.request_id
        return {"jsonrpc": "2.0", "id": known, "error": self.error.model_dump()}


def decode_call(text: str | bytes) -> JsonRpcRequest:
    """Reads a call from JSON text.

    Raises:
        Refusal: It is no JSON object, or no call.
    """
    try:
        value = json_codec.decode(text)
    except InvalidJson as error:
        raise Refusal(PARSE_ERROR, f"Parse error: {error.message}") from error
    if not isinstance(value, dict):
        # A batch among them: OpenEnv's subset has none, and neither has MCP any more.
        raise Refusal(PARSE_ERROR, "Parse error: a call is one JSON object.")
    return read_call(value)


def read_call(value: dict[str, Any]) -> JsonRpcRequest:
    """Reads a call from a JSON object.

    Raises:
        Refusal: It is no call; the answer bears its id where it has a usable one.
    """
    try:
        return JsonRpcRequest.model_validate(value)
    except ValidationError as error:
        told = value.get("id")
        usable = told if isinstance(told, str | int) and not isinstance(told, bool) else None
        raise Refusal(INVALID_REQUEST, f"Invalid request: {_first_fault(error)}", request_id=usable) from error


def result_response(request_id: str | int | None, result: Any) -> dict[str, Any]:
    """The response to a call that succeeded."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
