"""What routes and connections share of ASGI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

logger = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]

NORMAL = 1000
PROTOCOL_ERROR = 1002
NO_STATUS = 1005
ABNORMAL = 1006
INVALID_DATA = 1007
TOO_LARGE = 1009
INTERNAL_ERROR = 1011
SERVICE_RESTART = 1012
TRY_AGAIN_LATER = 1013
"""WebSocket close codes."""

VIOLATIONS = frozenset({PROTOCOL_ERROR, INVALID_DATA, TOO_LARGE})
"""Those by which one end says that the other does not speak the wire as agreed."""


def frame_of(message: Message) -> str | bytes:
    """The frame of a ``websocket.receive`` message: text as str, binary as bytes."""
    text = message.get("text")
    frame: str | bytes = message["bytes"] if text is None else text
    return frame


async def ended(task: asyncio.Future[None]) -> None:
    """Cancels a connection's task if it runs, and waits for its end."""
    task.cancel()
    try:
        await task
    except (asyncio.CancelledError, OSError):
        # Cancelled just now, or the socket broke: the connection is over either way.
        return
    except Exception:
        logger.exception("A connection ended by a fault of the server.")
