"""The standard wire's frames: one text in, one text out. Runs where the environment runs."""

from __future__ import annotations

from typing import Any

from openenv_gym_protocol import codec, json_codec, jsonrpc
from openenv_gym_protocol.errors import (
    CapacityReached,
    ErrorCode,
    ExecutionError,
    FactoryError,
    InvalidJson,
    InvalidMessage,
    OpenEnvGymError,
    ProtocolFailure,
)
from openenv_gym_protocol.messages import (
    CloseRequest,
    McpRequest,
    Request,
    ResetRequest,
    StepRequest,
)

from openenv_gym_server import rpc
from openenv_gym_server.dispatch import Host
from openenv_gym_server.loops import run_to_end
from openenv_gym_server.serialisation import error_to_json, observation_frame


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
        return _refused(host, error)
    except BaseException as error:
        if host.is_cancelled(error):
            raise
        # Code of the environment that is not one of its methods, such as a validator of its action.
        return error_frame(host.report(error, "the message"))


def exchange_at_once(host: Host, frame: str | bytes) -> str | None:
    """Does what ``exchange`` does, for environments that do not await."""
    data = _step_data(frame)
    if data is None:
        return run_to_end(exchange(host, frame))
    try:
        return host.written(host.step_at_once(Host.ready_to_write, data), "step", observation_frame)
    except OpenEnvGymError as error:
        return _refused(host, error)
    except BaseException as error:
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


def _step_data(frame: str | bytes) -> dict[str, Any] | None:
    """The action of a step that is as clients write it; None for all else, which is read, or refused, in full."""
    if isinstance(frame, bytes):
        return None
    try:
        value = json_codec.decode(frame)
    except InvalidJson:
        return None
    if not isinstance(value, dict) or len(value) != 2 or value.get("type") != "step":
        return None
    data = value.get("data")
    return data if isinstance(data, dict) else None


async def _answer(host: Host, request: Request) -> str:
    reply: dict[str, Any]
    if isinstance(request, StepRequest):
        return host.written(await host.step(request.data), request.type, observation_frame)
    if isinstance(request, ResetRequest):
        return host.written(await host.reset(request.data), request.type, observation_frame)
    if isinstance(request, McpRequest):
        reply = {"type": "mcp", "data": await _answer_call(host, request.data)}
    else:
        reply = {"type": "state", "data": await host.state()}
    return host.written(reply, request.type)


async def _answer_call(host: Host, data: dict[str, Any]) -> dict[str, Any]:
    try:
        call = jsonrpc.read_call(data)
    except jsonrpc.Refusal as refusal:
        host.tally.violations += 1
        return refusal.response()
    return await rpc.respond(host, call, rpc.on_session)


def _refused(host: Host, error: OpenEnvGymError) -> str:
    host.tally.violations += isinstance(error, ProtocolFailure)
    try:
        return error_frame(error)
    except ExecutionError:
        # Only the client's own input, echoed in the errors, can be unwritable.
        return error_frame(InvalidMessage(error.message))
