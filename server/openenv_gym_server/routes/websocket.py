"""``/ws``: one socket, one session. Converts between the socket and the session, and nothing more."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import NamedTuple
from urllib.parse import parse_qs

from openenv_gym_protocol.errors import (
    CapacityReached,
    OpenEnvGymError,
    SessionError,
    StepTimeout,
)
from openenv_gym_protocol.vector.frames import SUBPROTOCOL

from openenv_gym_server.asgi import (
    INTERNAL_ERROR,
    NORMAL,
    TRY_AGAIN_LATER,
    Message,
    Receive,
    Send,
    ended,
    frame_of,
)
from openenv_gym_server.frames import error_frame
from openenv_gym_server.service import Service
from openenv_gym_server.session import Session
from openenv_gym_server.vector.connection import VectorConnection
from openenv_gym_server.vector.offer import Offer

logger = logging.getLogger(__name__)

_MAX_WAITING = 32
"""Frames of one client that may wait for their answers before its socket is read no further."""


class Ending(NamedTuple):
    """The last thing to send: an error frame, perhaps, and the close."""

    code: int
    frame: str | None = None


class WebSocketEndpoint:
    """The ASGI application behind ``/ws``."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._offer: Offer | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serves one connection, in the vector wire if the client offers that."""
        await receive()  # websocket.connect
        if SUBPROTOCOL in scope.get("subprotocols", ()):
            self._offer = self._offer or Offer(self._service)
            await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})
            await VectorConnection(self._service, self._offer, receive, send).run()
            return
        await send({"type": "websocket.accept"})
        await Conversation(self._service, receive, send).run(_asked_session(scope))


class Conversation:
    """One connection: reads frames, gives them to the session, and sends the answers in their order."""

    def __init__(self, service: Service, receive: Receive, send: Send) -> None:
        self._service = service
        self._receive = receive
        self._send = send
        self._session: Session | None = None
        self._early: deque[str | bytes] = deque()
        self._outbox: asyncio.Queue[str | Ending] = asyncio.Queue()
        self._waiting = 0
        self._room = asyncio.Event()
        self._room.set()

    async def run(self, asked: str | None) -> None:
        """Serves the connection to its end."""
        opening = asyncio.ensure_future(self._open(asked))
        writing = asyncio.ensure_future(self._write())
        try:
            reading = asyncio.ensure_future(self._read())
            await asyncio.wait((reading, writing), return_when=asyncio.FIRST_COMPLETED)
            await ended(reading)
        finally:
            await ended(opening)
            await ended(writing)
            if self._session is not None:
                self._service.sessions.close(self._session)

    async def _open(self, asked: str | None) -> None:
        try:
            if asked is not None:
                # Sessions that outlive sockets are made over HTTP, and are not lent to sockets.
                raise SessionError(f"Unknown session_id: {asked}")
            self._session = await self._service.sessions.open(socket=True)
        except CapacityReached as error:
            self._outbox.put_nowait(Ending(TRY_AGAIN_LATER, error_frame(error)))
        except StepTimeout as error:
            self._outbox.put_nowait(Ending(INTERNAL_ERROR, error_frame(error)))
        except OpenEnvGymError as error:
            self._outbox.put_nowait(Ending(NORMAL, error_frame(error)))
        except Exception:
            # A client that is told nothing would wait for ever.
            self._outbox.put_nowait(Ending(INTERNAL_ERROR))
            raise
        else:
            self._session.on_lost = self._lost
            while self._early:
                self._session.exchange(self._early.popleft(), self._reply)

    async def _read(self) -> None:
        while (message := await self._receive())["type"] == "websocket.receive":
            frame = frame_of(message)
            self._waiting += 1
            if self._session is None:
                self._early.append(frame)
            else:
                self._session.exchange(frame, self._reply)
            if self._waiting >= _MAX_WAITING:
                self._room.clear()
                await self._room.wait()

    async def _write(self) -> None:
        while isinstance(item := await self._outbox.get(), str):
            await self._send({"type": "websocket.send", "text": item})
            self._waiting -= 1
            self._room.set()
        if item.frame is not None:
            await self._send({"type": "websocket.send", "text": item.frame})
        await self._send({"type": "websocket.close", "code": item.code})

    def _reply(self, text: str | None) -> None:
        self._outbox.put_nowait(Ending(NORMAL) if text is None else text)

    def _lost(self, error: OpenEnvGymError) -> None:
        self._outbox.put_nowait(Ending(INTERNAL_ERROR, error_frame(error)))


def _asked_session(scope: Message) -> str | None:
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return query.get("session_id", [None])[0] or None
