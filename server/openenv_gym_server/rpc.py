"""OpenEnv's JSON-RPC subset of MCP: one call in, one answer out. Runs where the environment runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from openenv_gym_protocol import jsonrpc
from openenv_gym_protocol.errors import (
    CapacityReached,
    FactoryError,
    InvalidMessage,
    OpenEnvGymError,
    SessionLost,
)
from openenv_gym_protocol.jsonrpc import JsonRpcRequest, Refusal
from openenv_gym_protocol.tools import Tool

from openenv_gym_server import agent_tools
from openenv_gym_server.dispatch import Host
from openenv_gym_server.serialisation import error_to_json
from openenv_gym_server.tool_extras import extras_of

Answer = Callable[[Host, JsonRpcRequest], Awaitable[dict[str, Any]]]
"""What gives a call's result."""

CREATE, CLOSE = "openenv/session/create", "openenv/session/close"

NOTHING = ""
"""The answer to a notification on a socket."""


async def exchange(host: Host, frame: str | bytes) -> str:
    """Answers one frame of the WebSocket ``/mcp``; never raises."""
    try:
        call = jsonrpc.decode_call(frame)
    except Refusal as refusal:
        host.tally.violations += 1
        return error_to_json(refusal.response())
    response = await respond(host, call, on_session)
    return NOTHING if call.is_notification else written(host, response, call)


async def respond(host: Host, call: JsonRpcRequest, answer: Answer) -> dict[str, Any]:
    """The whole answer to a call; never raises.

    Args:
        host: Owns the environment.
        call: The call.
        answer: Gives its result: ``on_tools``, or ``on_session`` where the call came over the session's own socket.
    """
    try:
        return jsonrpc.result_response(call.id, await answer(host, call))
    except Refusal as refusal:
        host.tally.violations += refusal.error.code == jsonrpc.METHOD_NOT_FOUND
        return refusal.response(call.id)
    except OpenEnvGymError as error:
        return refusal_of(error).response(call.id)
    except BaseException as error:
        if host.is_cancelled(error):
            raise
        return refusal_of(host.report(error, call.method)).response(call.id)


def written(host: Host, response: dict[str, Any], call: JsonRpcRequest) -> str:
    """Writes an answer, or in its place that it cannot be written."""
    try:
        return host.written(response, call.method)
    except OpenEnvGymError as error:
        return error_to_json(refusal_of(error).response(call.id))


async def on_tools(host: Host, call: JsonRpcRequest) -> dict[str, Any]:
    """The result of ``tools/list`` or ``tools/call``.

    Raises:
        Refusal: The call is wrong, or the tool failed.
        OpenEnvGymError: The environment failed.
    """
    if call.method == "tools/list":
        return {"tools": [_told(tool) for tool in await agent_tools.list_tools(host)]}
    if call.method != "tools/call":
        raise unknown_method(call)
    name, arguments = call.params.get("name"), call.params.get("arguments")
    if not isinstance(name, str) or not name:
        raise Refusal(jsonrpc.INVALID_PARAMS, "params.name must be the name of a tool.")
    if not isinstance(arguments, dict | None):
        raise Refusal(jsonrpc.INVALID_PARAMS, "params.arguments must be an object.")
    called = await agent_tools.call_tool(host, name, arguments or {})
    if called.error is not None:
        kind = {"error_type": str(called.error.error_type)}
        raise Refusal(jsonrpc.INTERNAL_ERROR, called.error.message, data=kind)
    result: dict[str, Any] = called.result
    return result


def refusal_of(error: OpenEnvGymError) -> Refusal:
    """What a caller is told of an error of this project."""
    if isinstance(error, CapacityReached):
        counts = {"active_sessions": error.active_sessions, "max_sessions": error.max_sessions}
        return Refusal(jsonrpc.SERVER_ERROR, error.message, data=counts)
    if isinstance(error, FactoryError):
        return Refusal(jsonrpc.SERVER_ERROR, error.message, data={"factory_name": error.factory_name})
    wrong = isinstance(error, SessionLost | InvalidMessage)
    return Refusal(jsonrpc.INVALID_PARAMS if wrong else jsonrpc.INTERNAL_ERROR, error.message)


def unknown_method(call: JsonRpcRequest) -> Refusal:
    """What a caller of a method is told that does not exist."""
    return Refusal(jsonrpc.METHOD_NOT_FOUND, f"Method not found: {call.method}")


def unknown_session(asked: Any) -> Refusal:
    """What a caller is told who names a session that does not exist."""
    return Refusal(jsonrpc.INVALID_PARAMS, f"Unknown session_id: {asked}")


async def on_session(host: Host, call: JsonRpcRequest) -> dict[str, Any]:
    """The result of a call that came over the session's own socket.

    Raises:
        Refusal: The call is wrong, or the tool failed.
        OpenEnvGymError: The environment failed.
    """
    asked = call.params.get("session_id")
    if call.method == CREATE:
        return {"session_id": host.session_id}
    if call.method == CLOSE and not asked:
        raise Refusal(jsonrpc.INVALID_PARAMS, "params.session_id must name a session.")
    if call.method == CLOSE and asked == host.session_id:
        raise Refusal(jsonrpc.INVALID_REQUEST, "This session ends with its connection: close that.")
    if asked not in (None, host.session_id):
        raise unknown_session(asked)
    return await on_tools(host, call)


def _told(tool: Tool) -> dict[str, Any]:
    extras = extras_of(tool)
    return {
        "name": tool.name,
        "title": extras.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": None,
        "icons": None,
        "annotations": extras.annotations,
        "meta": None,
        "execution": None,
    }
