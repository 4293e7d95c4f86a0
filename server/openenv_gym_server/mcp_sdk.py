"""The official MCP SDK, asked to serve the tools of a session; only here it is imported."""

from __future__ import annotations

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from openenv_gym_protocol import jsonrpc
from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_protocol.jsonrpc import Refusal
from openenv_gym_protocol.release import product
from openenv_gym_protocol.tools import Tool as OpenEnvTool
from openenv_gym_protocol.tools import ToolErrorType

from openenv_gym_server import agent_tools, rpc
from openenv_gym_server.agent_tools import Called
from openenv_gym_server.asgi import Message, Receive, Send
from openenv_gym_server.callers import CALLER
from openenv_gym_server.mcp_events import RecentEvents, owning
from openenv_gym_server.placement import placed, unplaced
from openenv_gym_server.service import Service
from openenv_gym_server.session import Session
from openenv_gym_server.tool_extras import extras_of
from openenv_gym_server.tool_results import result_object

_SESSION = "openenv_gym.session"
_CALLER = "openenv_gym.caller"
_MCP_SESSION = b"mcp-session-id"
_MAX_OWNERS = 10_000


class McpSdk:
    """Streamable HTTP for one server.

    Attributes:
        versions_with_sessions: The protocol's versions that begin with ``initialize``.
    """

    versions_with_sessions: tuple[str, ...] = HANDSHAKE_PROTOCOL_VERSIONS

    def __init__(self, service: Service) -> None:
        self._service = service
        _, _, release = product().partition("/")
        server = Server(
            service.definition.name, version=release, on_list_tools=self._list_tools, on_call_tool=self._call_tool
        )
        self._manager = StreamableHTTPSessionManager(
            server,
            event_store=RecentEvents(),
            session_idle_timeout=max(service.config.agent_idle_ttl, 0.001),
            max_request_body_size=service.config.max_frame_bytes,
        )
        self._owners: OrderedDict[bytes, str] = OrderedDict()
        """Whose events are whose: a name for each MCP session that nobody is told."""
        self._running: asyncio.Task[None] | None = None
        self._is_over = asyncio.Event()

    async def start(self) -> None:
        """Begins to serve."""
        is_up = asyncio.Event()
        self._running = asyncio.create_task(self._run(is_up))
        await is_up.wait()

    async def close(self) -> None:
        """Ends all MCP sessions."""
        self._is_over.set()
        if self._running is not None:
            await self._running

    async def handle(self, scope: Message, receive: Receive, send: Send, session: Session | None) -> None:
        """Answers one request, whose tools are those of a session."""
        scope[_SESSION], scope[_CALLER] = session, CALLER.get()
        # The SDK makes its ids by itself; clients are told, and tell, those that name the worker process as well.
        scope["headers"] = [_renamed(header, unplaced) for header in scope["headers"]]
        asked = next((value for name, value in scope["headers"] if name == _MCP_SESSION), None)
        owner = self._owners.get(asked, "") if asked else uuid.uuid4().hex

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                if not asked:
                    self._note_owner(message["headers"], owner)
                message["headers"] = [_renamed(header, self._placed) for header in message["headers"]]
            await send(message)

        # The SDK's tasks inherit it, those that outlive the request among them.
        with owning(owner):
            await self._manager.handle_request(scope, receive, watched)

    def _placed(self, mcp_id: str) -> str:
        return placed(mcp_id, self._service.config.worker)

    def _note_owner(self, headers: Iterable[tuple[bytes, bytes]], owner: str) -> None:
        begun = next((value for name, value in headers if name.lower() == _MCP_SESSION), None)
        if begun is not None:
            self._owners[begun] = owner
            while len(self._owners) > _MAX_OWNERS:
                self._owners.popitem(last=False)

    async def _run(self, is_up: asyncio.Event) -> None:
        async with self._manager.run():
            is_up.set()
            await self._is_over.wait()

    async def _list_tools(
        self, context: ServerRequestContext[Any], _: PaginatedRequestParams | None
    ) -> ListToolsResult:
        try:
            listed = await _session_of(context).call(agent_tools.list_tools, now=self._service.now())
        except OpenEnvGymError as error:
            raise _mcp_error(rpc.refusal_of(error)) from error
        return ListToolsResult(tools=[_tool(each) for each in listed])

    async def _call_tool(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        work = partial(agent_tools.call_tool, name=params.name, arguments=params.arguments or {})
        try:
            called = await _session_of(context).call(work, now=self._service.now())
        except OpenEnvGymError as error:
            raise _mcp_error(rpc.refusal_of(error)) from error
        return _result(called)


def _renamed(header: tuple[bytes, bytes], rename: Callable[[str], str]) -> tuple[bytes, bytes]:
    name, value = header
    return (name, rename(value.decode("latin-1")).encode("latin-1")) if name.lower() == _MCP_SESSION else header


def _tool(tool: OpenEnvTool) -> Tool:
    extras = extras_of(tool)
    told = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    return Tool.model_validate({**told, "title": extras.title, "annotations": extras.annotations})


def _session_of(context: ServerRequestContext[Any]) -> Session:
    session: Session | None = None if context.request is None else context.request.scope.get(_SESSION)
    if session is None or context.request is None:
        raise _mcp_error(Refusal(jsonrpc.INVALID_PARAMS, "The session has ended."))
    # The SDK serves all requests of a client in a task that the first of them began.
    CALLER.set(context.request.scope.get(_CALLER))
    return session


def _result(called: Called) -> CallToolResult:
    if called.error is not None:
        if called.error.error_type is ToolErrorType.TOOL_NOT_FOUND:
            raise _mcp_error(Refusal(jsonrpc.INVALID_PARAMS, called.error.message))
        # Told as a result: the model that called is to read it.
        return CallToolResult(content=[TextContent(type="text", text=called.error.message)], is_error=True)
    told = called.result if _is_result(called.result) else result_object(called.result)
    return CallToolResult.model_validate(
        {
            "content": [_block(each) for each in told["content"]],
            "structuredContent": told["structured_content"],
            "_meta": told["meta"],
            "isError": told["is_error"],
        }
    )


def _is_result(value: Any) -> bool:
    return isinstance(value, dict) and {"content", "structured_content", "meta", "is_error"} <= value.keys()


def _block(block: dict[str, Any]) -> dict[str, Any]:
    named = {("_meta" if name == "meta" else name): value for name, value in block.items()}
    return {name: value for name, value in named.items() if value is not None}


def _mcp_error(refusal: Refusal) -> MCPError:
    return MCPError(refusal.error.code, refusal.error.message, refusal.error.data)
