"""``/ws``: one socket, one session. Converts between the socket and the session, and nothing more."""

from __future__ import annotations

import asyncio
from collections import deque
from urllib.parse import parse_qs

from openenv_gym_protocol.errors import (
    CapacityReached,
    OpenEnvGymError,
    StepTimeout,
)
from openenv_gym_protocol.vector.frames import SUBPROTOCOL

from openenv_gym_server.asgi import (
    ABNORMAL,
    INTERNAL_ERROR,
    NORMAL,
    TRY_AGAIN_LATER,
    VIOLATIONS,
    Message,
    Receive,
    Send,
    ended,
)
from openenv_gym_server.frames import error_frame
from openenv_gym_server.service import Service
from openenv_gym_server.session import Session
from openenv_gym_server.sharing import Attachment
from openenv_gym_server.sockets.base import Socket
from openenv_gym_server.sockets.takeover import accepted_socket, converse
from openenv_gym_server.vector.connection import VectorConnection
from openenv_gym_server.vector.links import Links
from openenv_gym_server.vector.offer import Offer

_MAX_UNDER_WAY = 32
"""Frames of one client that the session may have before their answers are sent; the next ones wait."""

_MAX_A_TURN = 32
"""Frames of one client that are taken up before the others have their turn."""

_MAX_WAITING = 1024
"""Frames that may wait before the socket is read no further: its end is noticed as long as it is read."""


class WebSocketEndpoint:
    """The ASGI application behind ``/ws``."""

    def __init__(self, service: Service) -> None:
        self._service = service
        # Of many lanes at once it can be wrong, which the start of the server has to find.
        self._offer = Offer(service) if service.definition.traits.has_arrays else None
        self._links = Links(service.config.worker)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serves one connection, in the vector wire if the client offers that."""
        await receive()  # websocket.connect
        if SUBPROTOCOL in scope.get("subprotocols", ()):
            self._offer = self._offer or Offer(self._service)
            await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})
            socket = accepted_socket(scope, receive, send)
            await converse(scope, socket, VectorConnection(self._service, self._offer, self._links, socket))
            return
        await send({"type": "websocket.accept"})
        socket = accepted_socket(scope, receive, send)
        await converse(scope, socket, StandardConversation(self._service, socket, asked_session(scope)))

    async def end(self) -> None:
        """Ends the lanes that wait for their clients to come back."""
        await self._links.end()


class StandardConversation:
    """Gives a client's frames to its session, and sends the answers in their order.

    Args:
        service: The server's parts.
        socket: Where the client is.
        asked: The session that the client asked for, if any.
    """

    def __init__(self, service: Service, socket: Socket, asked: str | None) -> None:
        self._service = service
        self._socket = socket
        self._session: Session | None = None
        self._attachment: Attachment | None = None
        self._waiting: deque[str | bytes] | None = None
        """Made when something waits: an idle session's would take most of what its conversation does."""
        self._waiting_bytes = 0
        self._under_way = 0
        self._fed = 0
        """Frames that the session got in this turn of the event loop, which others wait for."""
        self._is_paused = False
        self._is_feeding = False
        self._has_ended = False
        self._opening = asyncio.ensure_future(self._open(asked))

    def receive(self, frame: str | bytes) -> None:
        """Takes a frame, which waits until the session has room for it."""
        if self._session is not None and not self._waiting and self._has_room():
            self._give(self._session, frame)
            return
        if self._waiting is None:
            self._waiting = deque()
        self._waiting.append(frame)
        self._waiting_bytes += len(frame)
        if not self._is_paused and self._is_full():
            self._is_paused = True
            self._socket.pause_reading()

    def sent(self, frame: str | bytes) -> None:
        """Makes room for the next frame."""
        del frame
        self._under_way -= 1
        if self._waiting:
            self._feed()

    @property
    def is_busy(self) -> bool:
        """Answers are still to come."""
        return self._under_way > 0 or bool(self._waiting)

    def end(self) -> None:
        """Closes the session, or gives it back."""
        self._has_ended = True
        self._waiting = None
        self._opening.cancel()
        code = self._socket.close_code
        self._service.counters.violations += code in VIOLATIONS
        if self._attachment is not None:
            self._attachment.detach(is_lost=code in (ABNORMAL, INTERNAL_ERROR))
        elif self._session is not None:
            self._service.sessions.close(self._session)

    async def finish(self) -> None:
        """Waits until no session is being made any more."""
        await ended(self._opening)

    async def _open(self, asked: str | None) -> None:
        try:
            if asked is None:
                self._session = await self._service.sessions.open(socket=True)
            else:
                self._attachment = self._service.sharing.attach(asked)
                self._session = self._attachment.session
        except CapacityReached as error:
            self._refuse(TRY_AGAIN_LATER, error)
        except StepTimeout as error:
            self._refuse(INTERNAL_ERROR, error)
        except OpenEnvGymError as error:
            self._refuse(NORMAL, error)
        except Exception:
            # A client that is told nothing would wait for ever.
            self._socket.close(INTERNAL_ERROR)
            raise
        else:
            self._session.on_lost = self._lost
            self._feed()

    def _feed(self) -> None:
        if self._session is None or self._is_feeding:
            return  # an inline session answers before it returns: whoever feeds it goes on
        self._is_feeding = True
        try:
            while self._waiting and self._has_room():
                frame = self._waiting.popleft()
                self._waiting_bytes -= len(frame)
                self._give(self._session, frame)
        finally:
            self._is_feeding = False
        if not self._waiting:
            self._waiting = None
        if self._is_paused and not self._is_full():
            self._is_paused = False
            self._socket.resume_reading()

    def _has_room(self) -> bool:
        return self._under_way < _MAX_UNDER_WAY and self._fed < _MAX_A_TURN

    def _give(self, session: Session, frame: str | bytes) -> None:
        self._under_way += 1
        self._fed += 1
        if self._fed == _MAX_A_TURN:
            asyncio.get_running_loop().call_soon(self._feed_again)
        self._exchange(session, frame)

    def _feed_again(self) -> None:
        self._fed = 0
        self._feed()

    def _is_full(self) -> bool:
        return len(self._waiting or ()) >= _MAX_WAITING or self._waiting_bytes >= self._service.config.max_frame_bytes

    def _exchange(self, session: Session, frame: str | bytes) -> None:
        session.exchange(frame, self._reply)

    def _reply(self, text: str | None) -> None:
        if self._has_ended:
            return  # a session that was lent lives on, and has answered what was asked before
        if text is None:
            self._socket.close(NORMAL)
        else:
            self._socket.send(text)

    def _lost(self, error: OpenEnvGymError) -> None:
        self._refuse(INTERNAL_ERROR, error)

    def _refuse(self, code: int, error: OpenEnvGymError) -> None:
        self._socket.send(self._refusal(error))
        self._socket.close(code)

    @staticmethod
    def _refusal(error: OpenEnvGymError) -> str:
        return error_frame(error)


def asked_session(scope: Message) -> str | None:
    """The session that the query of a request names."""
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return query.get("session_id", [None])[0] or None
