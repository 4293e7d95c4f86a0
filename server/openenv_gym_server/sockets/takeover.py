"""Takes an accepted connection over from uvicorn, where that is certain to change nothing but the speed.

Everything is asked for before it is used, so that with another server, another release or a middleware between
them the connection stays with ASGI.
"""

from __future__ import annotations

import sys
from typing import Any

from openenv_gym_server.asgi import Asgi, Message, Receive, Send
from openenv_gym_server.sockets.base import Conversation
from openenv_gym_server.sockets.direct import DirectSocket
from openenv_gym_server.sockets.over_asgi import AsgiSocket

_UVICORN = "uvicorn.protocols.websockets.websockets_sansio_impl"
_SPEEDUPS = "websockets.speedups"
_KEY = "openenv_gym.uvicorn"
_TAKEN = "openenv_gym.socket"
_LEFT_OVER = {"conn", "queue", "request", "response", "writable"}
"""What uvicorn's protocol needs no more once its connection is taken over."""


class Marker:
    """The outermost ASGI middleware: notes uvicorn's protocol in the scope, if nothing stands between them.

    It also waits for the end of connections that were taken over: all that stands between it and the endpoint has
    returned by then, and takes no memory for as long as the connection lasts.
    """

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Passes everything on."""
        if scope["type"] == "websocket":
            owner = getattr(receive, "__self__", None)
            if owner is not None and owner is getattr(send, "__self__", None) and type(owner) is _expected_class():
                scope[_KEY] = owner
        await self._app(scope, receive, send)
        socket: DirectSocket | None = scope.get(_TAKEN)
        if socket is not None:
            scope["headers"] = ()  # read by nobody any more
            await socket.wait()


async def converse(scope: Message, socket: DirectSocket | AsgiSocket, conversation: Conversation) -> None:
    """Serves an accepted connection to its end, or begins to, where it was taken over: ``Marker`` sees to the rest."""
    if isinstance(socket, DirectSocket):
        socket.begin(conversation)
        scope[_TAKEN] = socket
    else:
        await socket.serve(conversation)


def accepted_socket(scope: Message, receive: Receive, send: Send) -> DirectSocket | AsgiSocket:
    """The socket of a connection that has just been accepted, before anything else was awaited."""
    owner = scope.get(_KEY)
    if owner is None or getattr(receive, "__self__", None) is not owner or not _is_free(owner):
        return AsgiSocket(receive, send)
    return _taken_from(owner)


def _taken_from(owner: Any) -> DirectSocket:
    owner.stop_keepalive()
    owner.connections.discard(owner)
    for name in _LEFT_OVER:
        setattr(owner, name, None)  # some kilobytes, of no more use
    return DirectSocket(
        owner.transport,
        owner.connections,
        max_bytes=owner.config.ws_max_size,
        ping_interval=owner.config.ws_ping_interval,
        ping_timeout=owner.config.ws_ping_timeout,
        unmask=getattr(sys.modules.get(_SPEEDUPS), "apply_mask", None),
    )


def _expected_class() -> Any:
    # Looked up and not imported: uvicorn has loaded it, if it uses it at all.
    return getattr(sys.modules.get(_UVICORN), "WebSocketsSansIOProtocol", None)


def _is_free(owner: Any) -> bool:
    """Whether the protocol has nothing under way, and has all that the take-over leans on."""
    try:
        return (
            owner.handshake_complete
            and not owner.close_sent
            and not owner.disconnected
            and owner.close_timer is None
            and not owner.conn.extensions
            and not owner.conn.reader.buffer
            and owner.queue.empty()
            and not owner.read_paused
            and owner.writable.is_set()
            and not owner.transport.is_closing()
            and callable(owner.transport.set_protocol)
            and callable(owner.stop_keepalive)
            and owner in owner.connections
            and vars(owner).keys() >= _LEFT_OVER
            and isinstance(owner.config.ws_max_size, int)
            and all(
                seconds is None or isinstance(seconds, int | float)
                for seconds in (owner.config.ws_ping_interval, owner.config.ws_ping_timeout)
            )
        )
    except (AttributeError, TypeError):
        return False
