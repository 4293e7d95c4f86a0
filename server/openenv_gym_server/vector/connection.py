"""One connection of the vector wire: moves frames between a socket and the link that it carries."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from openenv_gym_protocol.errors import OpenEnvGymError, ProtocolFailure
from openenv_gym_protocol.vector import codec, frames

from openenv_gym_server.asgi import (
    NORMAL,
    SERVICE_RESTART,
    TOO_LARGE,
    VIOLATIONS,
    Receive,
    Send,
    ended,
    frame_of,
)
from openenv_gym_server.service import Service
from openenv_gym_server.vector.link import Link
from openenv_gym_server.vector.links import Links
from openenv_gym_server.vector.offer import Offer
from openenv_gym_server.vector.parts import refusal

logger = logging.getLogger(__name__)

_FAREWELL = 1.0
"""Seconds that saying goodbye to a connection may take whose link is on another one."""


class VectorConnection:
    """Serves one accepted connection.

    Args:
        service: The server's parts.
        offer: What it offers.
        links: The links that can be resumed.
        receive: ASGI's.
        send: ASGI's.
    """

    def __init__(self, service: Service, offer: Offer, links: Links, receive: Receive, send: Send) -> None:
        self._service = service
        self._offer = offer
        self._links = links
        self._receive = receive
        self._send = send
        self._link: Link | None = None
        self._is_over = False
        self._fenced: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._outbox: asyncio.Queue[bytes | int] = asyncio.Queue()
        self._unsent = 0
        self._most = 2 * service.config.max_lanes + 64
        self._most_bytes = 2 * service.config.max_frame_bytes
        self._room = asyncio.Event()

    async def run(self) -> None:
        """Serves the connection to its end; its link ends with it, or lingers."""
        writing = asyncio.ensure_future(self._write())
        reading = asyncio.ensure_future(self._read())
        try:
            await asyncio.wait((reading, writing, self._fenced), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._is_over = True  # the server ends
            raise
        finally:
            for task in (reading, writing):
                await ended(task)
            if self._link is not None:
                await self._link.lose_carrier(self, is_over=self._is_over)
        if self._fenced.done():
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(_FAREWELL):
                    await self._send({"type": "websocket.close", "code": NORMAL})

    @property
    def is_busy(self) -> bool:
        """Answers are still to come."""
        return not self._outbox.empty() or (self._link is not None and self._link.is_busy)

    def put(self, frame: bytes) -> None:
        """Sends a frame."""
        self._unsent += len(frame)
        self._outbox.put_nowait(frame)

    def fence(self) -> None:
        """Ends the connection, because its link is on another one now: nothing that it still brings is read."""
        self._link = None
        if not self._fenced.done():
            self._fenced.set_result(None)

    async def _read(self) -> None:
        while (message := await self._receive())["type"] == "websocket.receive":
            frame = frame_of(message)
            if self._fenced.done():
                return
            if len(frame) > self._service.config.max_frame_bytes:
                self._service.counters.violations += 1
                self._outbox.put_nowait(TOO_LARGE)
                continue
            self._take(frame)
            while self._outbox.qsize() >= self._most or self._unsent >= self._most_bytes:
                # Whoever reads no answers is read no further; its end is noticed by writing to it.
                self._room.clear()
                await self._room.wait()
        self._service.counters.violations += message.get("code") in VIOLATIONS
        self._is_over = message.get("code") in (NORMAL, SERVICE_RESTART)

    async def _write(self) -> None:
        while isinstance(item := await self._outbox.get(), bytes):
            await self._send({"type": "websocket.send", "bytes": item})
            self._unsent -= len(item)
            self._room.set()
        self._is_over = True
        await self._send({"type": "websocket.close", "code": item})

    def _take(self, frame: str | bytes) -> None:
        if self._link is not None:
            self._link.take(frame)
            return
        request_id = codec.request_id(frame)
        try:
            self._begin(codec.decode_request(frame))
        except OpenEnvGymError as error:
            self._service.counters.violations += isinstance(error, ProtocolFailure)
            self.put(refusal(request_id, error))

    def _begin(self, request: frames.Request) -> None:
        if isinstance(request, frames.Hello):
            self._greet(request)
        elif isinstance(request, frames.Resume):
            link = self._links.find(request.link)
            for frame in link.resume(request, self):
                self.put(frame)
            self._link = link
        else:
            raise ProtocolFailure("The first request of a connection is hello, or resume.")

    def _greet(self, request: frames.Hello) -> None:
        can_resume = request.resume and self._service.config.linger > 0
        forget = self._links.remove if can_resume else None
        link = Link(self._service, self._offer, request.max_frame_bytes, self, forget)
        secret = self._links.add(link) if can_resume else ""
        try:
            self.put(codec.encode(self._offer.welcome(request.id, secret), request.max_frame_bytes))
        except OpenEnvGymError:
            self._links.remove(link)
            raise
        self._link = link
