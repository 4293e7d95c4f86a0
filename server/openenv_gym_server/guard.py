"""What every request must pass before it reaches a route: the token, the rules for web pages, and the limits."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import Iterable

from starlette.exceptions import HTTPException

from openenv_gym_server.asgi import Asgi, Message, Receive, Send
from openenv_gym_server.callers import CALLER, REQUEST_ID, caller_of
from openenv_gym_server.config import ServerConfig
from openenv_gym_server.counters import Counters
from openenv_gym_server.pages import PageRules, Refusal

logger = logging.getLogger(__name__)

_OPEN_PATHS = frozenset({"/health"})

_SLOWEST = 32 * 1024
"""Bytes a second: a body that comes at this rate has all the time it needs."""

_NO_TOKEN = Refusal(401, "token", "A token is required: Authorization: Bearer <token>, or X-OpenEnv-Token.")


class Guard:
    """An ASGI middleware.

    ``/health`` is open to all; everything else asks for the token, as ``Authorization: Bearer`` or
    ``X-OpenEnv-Token``, where one is set, and for a host and an origin that are known.

    Args:
        app: What it guards.
        config: The settings.
        counters: Where refusals are counted.
    """

    def __init__(self, app: Asgi, *, config: ServerConfig, counters: Counters) -> None:
        self._app = app
        self._token = config.token.encode() if config.token else None
        self._pages = PageRules(
            hosts=config.allowed_hosts,
            origins=config.allowed_origins,
            is_protected=config.token is not None or config.is_public,
        )
        self._max_body_bytes = config.max_frame_bytes
        self._patience = config.request_timeout
        self._counters = counters

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Passes a request on, or refuses it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        caller = caller_of(scope)
        CALLER.set(caller)
        refusal = self._refusal(scope)
        if scope["type"] == "http":
            # A socket's send stays as it is: only then can its connection be taken over.
            receive, send = self._limited(receive), _identified(send, caller.request_id)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            self._counters.requests_refused[refusal.reason] += 1
            logger.info("A request is refused: %s", refusal.detail)
            await _refuse(refusal, scope, receive, send)

    def _refusal(self, scope: Message) -> Refusal | None:
        if scope["type"] == "http" and scope["path"] in _OPEN_PATHS:
            return None
        headers = scope["headers"]
        refusal = self._pages.refusal(headers)
        if refusal is None and not self._has_token(headers):
            refusal = _NO_TOKEN
        if refusal is None and scope["type"] == "http" and _length(headers) > self._max_body_bytes:
            refusal = Refusal(413, "size", _too_large(self._max_body_bytes))
        return refusal

    def _has_token(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        if self._token is None:
            return True
        # Every candidate is compared, in constant time: neither their number nor their content shows in the time.
        return any([hmac.compare_digest(candidate, self._token) for candidate in _tokens(headers)])

    def _limited(self, receive: Receive) -> Receive:
        began = asyncio.get_running_loop().time()
        received = 0
        has_ended = False

        async def limited() -> Message:
            nonlocal received, has_ended
            if has_ended:
                return await receive()  # the client's end, which may be waited for as long as an answer is sent
            try:
                async with asyncio.timeout_at(began + self._patience + received / _SLOWEST):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "The body came too slowly.", {"Connection": "close"}) from None
            received += len(message.get("body", b""))
            has_ended = not message.get("more_body", False)
            if received > self._max_body_bytes:
                raise HTTPException(413, _too_large(self._max_body_bytes))
            return message

        return limited


def _too_large(limit: int) -> str:
    return f"The body is larger than {limit} bytes."


def _length(headers: Iterable[tuple[bytes, bytes]]) -> int:
    told = next((value for name, value in headers if name == b"content-length"), b"0")
    return int(told) if told.isdigit() else 0


def _tokens(headers: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    found = []
    for name, value in headers:
        if name == b"x-openenv-token":
            found.append(value.strip())
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            found.append(value[7:].strip())
    return found


def _identified(send: Send, request_id: str) -> Send:
    async def identified(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (REQUEST_ID, request_id.encode())]
        await send(message)

    return identified


async def _refuse(refusal: Refusal, scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        # Closed before it was accepted: the handshake is answered with 403.
        await send({"type": "websocket.close", "code": 1008})
        return
    body = json.dumps({"detail": refusal.detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
