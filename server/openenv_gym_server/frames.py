"""The standard wire's frames: one text in, one text out. Runs where the environment runs."""

from __future__ import annotations

from typing import Any

from openenv_gym_protocol import codec, jsonrpc
from openenv_gym_protocol.errors import (
    CapacityReached,
    ErrorCode,
    ExecutionError,
    FactoryError,
    InvalidMessage,
    OpenEnvGymError,
)
from openenv_gym_protocol.messages import (
    CloseRequest,
    McpRequest,
    Request,
    ResetRequest,
    StepRequest,
)
from pydantic import ValidationError

from openenv_gym_server.dispatch import Host
from openenv_gym_server.serialisation import error_to_json


async def exchange(host: Host, frame: str | bytes) -> str | None:
    """Answers one frame of a client.

    Returns:
        The reply's text, or None when the client asked to close. It never raises: what fails becomes an error
        frame, and the session goes on.
    """
    try:
        request = codec.decode_request(frame)
        if isinstance(request, CloseRequest):
            return None
        return await _answer(host, request)
    except OpenEnvGymError as error:
        return _written(error)
    except BaseException as error:
        if host.is_cancelled(error):
            raise
        # Code of the environment that is not one of its methods, such as a validator of its action.
        return error_frame(host.report(error, "the message"))


def error_frame(error: OpenEnvGymError) -> str:
    """The frame that tells a client of an error."""
    data: dict[str, Any] = {"message": error.message, "code": error.code or ErrorCode.SESSION_ERROR}
    if isinstance(error, InvalidMessage) and error.errors:
        data["errors"] = error.errors
    elif isinstance(error, CapacityReached):
        data |= {"active_sessions": error.active_sessions, "max_sessions": error.max_sessions}
    elif isinstance(error, FactoryError):
        data["factory_name"] = error.factory_name
    return error_to_json({"type": "error", "data": data})


async def _answer(host: Host, request: Request) -> str:
    reply: dict[str, Any]
    if isinstance(request, StepRequest):
        reply = {"type": "observation", "data": (await host.step(request.data)).frame_data()}
    elif isinstance(request, ResetRequest):
        reply = {"type": "observation", "data": (await host.reset(request.data)).frame_data()}
    elif isinstance(request, McpRequest):
        reply = {"type": "mcp", "data": _no_tools(request.data)}
    else:
        reply = {"type": "state", "data": await host.state()}
    return host.written(reply, request.type)


def _no_tools(data: dict[str, Any]) -> dict[str, Any]:
    # JSON-RPC is not answered on this socket yet; tools are reached as actions of step.
    try:
        call = jsonrpc.JsonRpcRequest.model_validate(data)
    except ValidationError as error:
        return jsonrpc.error_response(None, jsonrpc.INVALID_REQUEST, f"Invalid request: {error}")
    if call.method in ("tools/list", "tools/call"):
        reason = "This server answers tools as actions of step, not as JSON-RPC."
        return jsonrpc.error_response(call.id, jsonrpc.INTERNAL_ERROR, reason)
    return jsonrpc.error_response(call.id, jsonrpc.METHOD_NOT_FOUND, f"Method not found: {call.method}")


def _written(error: OpenEnvGymError) -> str:
    try:
        return error_frame(error)
    except ExecutionError:
        # Only the client's own input, echoed in the errors, can be unwritable.
        return error_frame(InvalidMessage(error.message))
