"""MCP for its own clients, by the official SDK: which environment a request is about, and what the SDK is asked.

An environment belongs to the MCP session that ``initialize`` opens, or to the address: a client of
``/mcp?session_id=...`` uses that session. The newest protocol, which knows no sessions, needs such an address;
elsewhere its clients are told the versions that have sessions, and begin one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from openenv_gym_protocol import jsonrpc
from openenv_gym_protocol.errors import CapacityReached, OpenEnvGymError, SessionLost
from openenv_gym_protocol.jsonrpc import Refusal
from starlette.requests import Request
from starlette.responses import Response

from openenv_gym_server import rpc
from openenv_gym_server.asgi import Message, Receive, Send
from openenv_gym_server.routes.http import SESSION_HEADER
from openenv_gym_server.serialisation import error_to_json
from openenv_gym_server.service import Service
from openenv_gym_server.session import Session, SessionState

if TYPE_CHECKING:
    from openenv_gym_server.mcp_sdk import McpSdk

logger = logging.getLogger(__name__)

MCP_SESSION = "mcp-session-id"
_UNSUPPORTED_VERSION = -32022
_UNNAMED_VERSION = "2025-03-26"
"""What a request speaks that names no version."""


class McpStreams:
    """Serves MCP's requests. Used on the server's event loop only."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sdk: McpSdk | None = None
        self._starting = asyncio.Lock()
        self._is_missing = False
        self._owned: dict[str, Session] = {}
        """The sessions that end with their MCP session, by its id."""

    async def start(self) -> bool:
        """Loads the SDK when it is first needed; False where it is not installed."""
        async with self._starting:
            if self._sdk is None and not self._is_missing:
                try:
                    module = await asyncio.to_thread(_load)
                except ImportError as error:
                    self._is_missing = True
                    logger.warning('MCP clients are not served: pip install "openenv-gym[mcp]" (%s).', error)
                    return False
                self._sdk = module.McpSdk(self._service)
                await self._sdk.start()
        return self._sdk is not None

    async def close(self) -> None:
        """Ends all streams."""
        if self._sdk is not None:
            await self._sdk.close()

    async def serve(self, request: Request, body: bytes | None, send: Send) -> None:
        """Answers one request; ``body`` is what was read of it already."""
        if not await self.start():
            await Response(status_code=405)(request.scope, request.receive, send)
            return
        try:
            await self._serve(request, body, send)
        except Refusal as refusal:
            await _refused(refusal, 400)(request.scope, request.receive, send)
        except CapacityReached as error:
            response = _refused(rpc.refusal_of(error), 503, {"Retry-After": "1"})
            await response(request.scope, request.receive, send)
        except OpenEnvGymError as error:
            await _refused(rpc.refusal_of(error), 404)(request.scope, request.receive, send)

    async def _serve(self, request: Request, body: bytes | None, send: Send) -> None:
        assert self._sdk is not None
        named = request.query_params.get("session_id") or request.headers.get(SESSION_HEADER) or None
        mcp_id = request.headers.get(MCP_SESSION)
        self._check_version(request, has_session=named is not None)
        receive = request.receive if body is None else _replayed(body, request.receive)
        if named is not None:
            session = self._service.sharing.find(named)
            async with self._busy(request, session):
                await self._sdk.handle(request.scope, receive, send, session)
        elif mcp_id is None and body is not None and _method_of(body) == "initialize":
            await self._begin(request, receive, send)
        else:
            await self._continue(request, mcp_id, receive, send)

    async def _begin(self, request: Request, receive: Receive, send: Send) -> None:
        assert self._sdk is not None
        self._forget_ended()
        sharing = self._service.sharing
        session = await sharing.create(request.is_disconnected)
        begun: str | None = None

        async def watched(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start" and message["status"] < 400:
                begun = next((v.decode() for k, v in message["headers"] if k.lower() == MCP_SESSION.encode()), None)
                if begun is not None:
                    self._owned[begun] = session
                    sharing.name(begun, session)
            await send(message)

        try:
            await self._sdk.handle(request.scope, receive, watched, session)
        finally:
            if begun is None:
                self._service.sessions.close(session)

    async def _continue(self, request: Request, mcp_id: str | None, receive: Receive, send: Send) -> None:
        assert self._sdk is not None
        session = self._owned.get(mcp_id or "")
        if session is not None and session.state is not SessionState.OPEN:
            raise SessionLost("The environment of this MCP session has ended; begin another.")  # answered with 404
        async with self._busy(request, session):
            await self._sdk.handle(request.scope, receive, send, session)
        if request.method == "DELETE" and mcp_id is not None and session is not None:
            del self._owned[mcp_id]
            self._service.sharing.forget(mcp_id)
            with suppress(SessionLost):
                self._service.sharing.close(session.session_id)

    @asynccontextmanager
    async def _busy(self, request: Request, session: Session | None) -> AsyncIterator[None]:
        if session is None or request.method != "GET":
            yield
            return
        with self._service.sharing.streaming(session):
            yield

    def _check_version(self, request: Request, *, has_session: bool) -> None:
        assert self._sdk is not None
        asked = request.headers.get("mcp-protocol-version", _UNNAMED_VERSION)
        known = self._sdk.versions_with_sessions
        if asked not in known and not has_session:
            told = {"supported": list(known), "requested": asked}
            raise Refusal(_UNSUPPORTED_VERSION, "Unsupported protocol version: begin a session.", data=told)

    def _forget_ended(self) -> None:
        for mcp_id, session in list(self._owned.items()):
            if session.ended.is_set():
                del self._owned[mcp_id]
                self._service.sharing.forget(mcp_id)


def _load() -> Any:
    from openenv_gym_server import mcp_sdk  # the SDK is an extra, and takes its time to load

    return mcp_sdk


def _method_of(body: bytes) -> str | None:
    try:
        return jsonrpc.decode_call(body).method
    except Refusal:
        return None  # for the SDK to refuse


def _replayed(body: bytes, receive: Receive) -> Receive:
    has_begun = False

    async def replay() -> Message:
        nonlocal has_begun
        if has_begun:
            return await receive()
        has_begun = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _refused(refusal: Refusal, status: int, headers: dict[str, str] | None = None) -> Response:
    text = error_to_json(refusal.response())
    return Response(text, status_code=status, headers=headers, media_type="application/json")
