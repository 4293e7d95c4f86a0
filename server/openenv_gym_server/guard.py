"""What every request must pass before it reaches a route: the token and the size limit."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable

from starlette.exceptions import HTTPException

from openenv_gym_server.asgi import Asgi, Message, Receive, Send

_OPEN_PATHS = frozenset({"/health"})


class Guard:
    """An ASGI middleware.

    Args:
        app: What it guards.
        token: Asked for on everything but ``/health``, as ``Authorization: Bearer`` or ``X-OpenEnv-Token``;
            None asks for nothing.
        max_body_bytes: The largest body of an HTTP request.
    """

    def __init__(self, app: Asgi, *, token: str | None, max_body_bytes: int) -> None:
        self._app = app
        self._token = token.encode() if token else None
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Passes a request on, or refuses it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif not self._admits(scope):
            await _refuse(scope, receive, send)
        elif scope["type"] == "http":
            await self._app(scope, self._limited(receive), send)
        else:
            await self._app(scope, receive, send)

    def _admits(self, scope: Message) -> bool:
        if self._token is None or (scope["type"] == "http" and scope["path"] in _OPEN_PATHS):
            return True
        # Every candidate is compared, in constant time: neither their number nor their content shows in the time.
        return any([hmac.compare_digest(candidate, self._token) for candidate in _tokens(scope["headers"])])

    def _limited(self, receive: Receive) -> Receive:
        received = 0

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_body_bytes:
                raise HTTPException(413, f"The body is larger than {self._max_body_bytes} bytes.")
            return message

        return limited


def _tokens(headers: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    found = []
    for name, value in headers:
        if name == b"x-openenv-token":
            found.append(value.strip())
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            found.append(value[7:].strip())
    return found


async def _refuse(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        # Closed before it was accepted: the handshake is answered with 403.
        await send({"type": "websocket.close", "code": 1008})
        return
    body = json.dumps({"detail": "A token is required: Authorization: Bearer <token>, or X-OpenEnv-Token."}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"www-authenticate", b"Bearer"),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})
