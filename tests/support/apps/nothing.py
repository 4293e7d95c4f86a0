"""A web application that is no environment: only the check of the tests' own servers is answered, once."""

from __future__ import annotations

from typing import Any

_healths = iter([200])


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers 404 to everything but the first request for ``/health``."""
    if scope["type"] != "http":
        return
    status = next(_healths, 404) if scope["path"] == "/health" else 404
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": b'{"detail": "Not Found"}'})
