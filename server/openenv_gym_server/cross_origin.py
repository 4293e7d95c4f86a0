"""Lets pages of listed origins read HTTP answers, and no other page."""

from __future__ import annotations

from collections.abc import Sequence

from openenv_gym_server.asgi import Asgi, Message, Receive, Send
from openenv_gym_server.pages import is_listed

_EXPOSED = b"X-OpenEnv-Session, Mcp-Session-Id, X-Request-ID, Retry-After"
_ALLOWED_METHODS = b"GET, POST, DELETE"
_ALLOWED_HEADERS = (
    b"Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, X-OpenEnv-Session, "
    b"X-OpenEnv-Token, X-Request-ID"
)
_PREFLIGHT_SECONDS = b"600"


class CrossOrigin:
    """An ASGI middleware, outside of the guard: a browser asks for leave without a token.

    Args:
        app: What it answers for.
        origins: The listed origins, as in ``PageRules``. Under ``*`` pages may ask, and read nothing.
    """

    def __init__(self, app: Asgi, *, origins: Sequence[str]) -> None:
        self._app = app
        self._origins = [origin.lower().rstrip("/") for origin in origins]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Passes a request on, and adds the headers that its page needs."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        origin = _header(scope, b"origin")
        if origin is None or not is_listed(origin.decode("latin-1").strip().lower(), self._origins):
            await self._app(scope, receive, _varied(send, []))
            return
        told = [(b"access-control-allow-origin", origin)]
        if scope["method"] == "OPTIONS" and _header(scope, b"access-control-request-method") is not None:
            await _allow(send, told)
        else:
            await self._app(scope, receive, _varied(send, [*told, (b"access-control-expose-headers", _EXPOSED)]))


async def _allow(send: Send, told: list[tuple[bytes, bytes]]) -> None:
    headers = [
        *told,
        (b"access-control-allow-methods", _ALLOWED_METHODS),
        (b"access-control-allow-headers", _ALLOWED_HEADERS),
        (b"access-control-max-age", _PREFLIGHT_SECONDS),
        (b"vary", b"Origin"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _varied(send: Send, told: list[tuple[bytes, bytes]]) -> Send:
    async def varied(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *told, (b"vary", b"Origin")]
        await send(message)

    return varied


def _header(scope: Message, name: bytes) -> bytes | None:
    found: bytes | None = next((value for key, value in scope["headers"] if key == name), None)
    return found
