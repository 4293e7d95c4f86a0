"""``/mcp``: MCP itself for its clients, and OpenEnv's JSON-RPC subset for openenv's, on one route.

A ``POST`` is of the subset where its method is one of ``openenv/`` or it accepts no event stream; all else is MCP's.
"""

from __future__ import annotations

from typing import Any

from openenv_gym_protocol import jsonrpc
from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_protocol.jsonrpc import JsonRpcRequest, Refusal
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from openenv_gym_server import rpc
from openenv_gym_server.asgi import Message, Receive, Send
from openenv_gym_server.dispatch import Host
from openenv_gym_server.routes.mcp_streams import McpStreams
from openenv_gym_server.serialisation import error_to_json
from openenv_gym_server.service import Service


class McpEndpoint:
    """The ASGI application behind ``/mcp``."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._streams = McpStreams(service)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers one request."""
        request = Request(scope, receive)
        streams = "text/event-stream" in request.headers.get("accept", "")
        response: Response
        if request.method in ("GET", "DELETE") and (streams or "mcp-session-id" in request.headers):
            await self._streams.serve(request, None, send)
            return
        if request.method != "POST":
            response = JSONResponse({"detail": "Method Not Allowed"}, 405, {"Allow": "POST"})
        else:
            body = await request.body()
            if streams and not _is_openenvs(body) and await self._streams.start():
                await self._streams.serve(request, body, send)
                return
            response = await self._answered(request, body)
        await response(scope, receive, send)

    async def close(self) -> None:
        """Ends what MCP's streams have open."""
        await self._streams.close()

    async def _answered(self, request: Request, body: bytes) -> Response:
        try:
            call = jsonrpc.decode_call(body)
        except Refusal as refusal:
            self._service.counters.violations += 1
            return _response(error_to_json(refusal.response()))
        try:
            text = await self._result(request, call)
        except Refusal as refusal:
            text = error_to_json(refusal.response(call.id))
        except OpenEnvGymError as error:
            text = error_to_json(rpc.refusal_of(error).response(call.id))
        return Response(status_code=202) if call.is_notification else _response(text)

    async def _result(self, request: Request, call: JsonRpcRequest) -> str:
        sharing = self._service.sharing
        asked = call.params.get("session_id")
        if call.method == rpc.CREATE:
            session = await sharing.create(request.is_disconnected)
            return error_to_json(jsonrpc.result_response(call.id, {"session_id": session.session_id}))
        if call.method == rpc.CLOSE and not asked:
            raise Refusal(jsonrpc.INVALID_PARAMS, "params.session_id must name a session.")
        if call.method == rpc.CLOSE:
            has_ended = sharing.close(str(asked))
            result: dict[str, Any] = {"session_id": asked, "closed": has_ended}
            return error_to_json(jsonrpc.result_response(call.id, result if has_ended else result | {"closing": True}))
        if call.method not in ("tools/list", "tools/call"):
            raise rpc.unknown_method(call)

        async def work(host: Host) -> str:
            return rpc.written(host, await rpc.respond(host, call, rpc.on_tools), call)

        if asked is not None:
            return await sharing.find(str(asked)).call(work, now=self._service.now())
        async with self._service.sessions.transient() as session:
            return await session.call(work, now=self._service.now())


def _is_openenvs(body: bytes) -> bool:
    try:
        return jsonrpc.decode_call(body).method.startswith("openenv/")
    except Refusal:
        return False  # for MCP to refuse


def _response(text: str) -> Response:
    return Response(text, media_type="application/json")
