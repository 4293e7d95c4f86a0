"""The JSON-RPC 2.0 envelope that OpenEnv's MCP subset travels in."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

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


class JsonRpcError(BaseModel):
    """Why a call failed."""

    code: int
    message: str
    data: dict[str, Any] | None = None


def result_response(request_id: str | int | None, result: Any) -> dict[str, Any]:
    """The response to a call that succeeded."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_response(
    request_id: str | int | None, code: int, message: str, data: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The response to a call that failed."""
    error = JsonRpcError(code=code, message=message, data=data)
    return {"jsonrpc": "2.0", "id": request_id, "error": error.model_dump()}
