"""One connection of the vector wire: reads requests, has them carried out, and sends what they are answered with."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from openenv_gym_protocol.errors import (
    OpenEnvGymError,
    ProtocolFailure,
    SessionError,
    StepTimeout,
)
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.frames import UNREADABLE

from openenv_gym_server.asgi import TOO_LARGE, Receive, Send, ended, frame_of
from openenv_gym_server.service import Service
from openenv_gym_server.vector.fleet import Fleet
from openenv_gym_server.vector.lane import Member
from openenv_gym_server.vector.offer import Offer
from openenv_gym_server.vector.parts import failure

logger = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]


class VectorConnection:
    """Serves one accepted connection.

    Args:
        service: The server's parts.
        offer: What it offers.
        receive: ASGI's.
        send: ASGI's.
    """

    def __init__(self, service: Service, offer: Offer, receive: Receive, send: Send) -> None:
        self._service = service
        self._offer = offer
        self._receive = receive
        self._send = send
        self._client_bytes: int | None = None
        self._outbox: asyncio.Queue[bytes | int] = asyncio.Queue()
        self._opening: dict[int, asyncio.Task[None]] = {}
        self._closing: dict[int, asyncio.Task[None]] = {}
        self._most = 2 * service.config.max_lanes + 64
        self._room = asyncio.Event()
        self._fleet = Fleet(service, offer, self._outbox.put_nowait)

    async def run(self) -> None:
        """Serves the connection to its end; its lanes end with it."""
        writing = asyncio.ensure_future(self._write())
        reading = asyncio.ensure_future(self._read())
        try:
            await asyncio.wait((reading, writing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in [reading, writing, *self._opening.values(), *self._closing.values()]:
                await ended(task)
            self._fleet.end()

    async def _read(self) -> None:
        while (message := await self._receive())["type"] == "websocket.receive":
            frame = frame_of(message)
            if len(frame) > self._service.config.max_frame_bytes:
                self._outbox.put_nowait(TOO_LARGE)
                continue
            self._take(frame)
            while self._load() >= self._most:
                self._room.clear()
                await self._room.wait()

    def _load(self) -> int:
        return self._fleet.pending_count + len(self._opening) + len(self._closing) + self._outbox.qsize()

    async def _write(self) -> None:
        while isinstance(item := await self._outbox.get(), bytes):
            await self._send({"type": "websocket.send", "bytes": item})
            self._room.set()
        await self._send({"type": "websocket.close", "code": item})

    def _take(self, frame: str | bytes) -> None:
        try:
            request = codec.decode_request(frame)
        except ProtocolFailure as error:
            known = codec.request_id(frame)
            self._refuse(UNREADABLE if self._is_open(known) else known, error)
            return
        if self._is_open(request.id):
            self._refuse(UNREADABLE, ProtocolFailure(f"The id {request.id} is that of a request under way."))
            return
        try:
            self._answer(request)
        except OpenEnvGymError as error:
            self._refuse(request.id, error)
        except Exception as error:
            self._fault(request.id, error)

    def _is_open(self, request_id: int) -> bool:
        return request_id in self._opening or request_id in self._closing or self._fleet.has_pending(request_id)

    def _answer(self, request: frames.Request) -> None:
        if isinstance(request, frames.Hello):
            self._greet(request)
        elif self._client_bytes is None:
            raise ProtocolFailure("The first request of a connection is hello.")
        elif isinstance(request, frames.Open):
            self._start(self._opening, request.id, partial(self._open, request))
        elif isinstance(request, frames.Close):
            members = self._fleet.closing(request.lanes)
            self._start(self._closing, request.id, partial(self._close, request.id, members))
        elif isinstance(request, frames.Cancel):
            self._cancel(request)
        else:
            self._fleet.ask(request)

    def _greet(self, request: frames.Hello) -> None:
        if self._client_bytes is not None:
            raise ProtocolFailure("There is one hello a connection.")
        welcome = codec.encode(self._offer.welcome(request.id), request.max_frame_bytes)
        self._client_bytes = self._fleet.client_bytes = request.max_frame_bytes
        self._outbox.put_nowait(welcome)

    async def _open(self, request: frames.Open) -> None:
        lanes = await self._fleet.open(request)
        tokens = [secrets.token_urlsafe(16) for _ in lanes]
        try:
            self._reply(self._offer.opened(request.id, lanes, tokens))
        except OpenEnvGymError:
            # A client that never learns of its lanes would never close them.
            self._fleet.abandon(lanes)
            raise

    async def _close(self, request_id: int, members: list[Member]) -> None:
        await self._fleet.close(members)
        self._reply(frames.Done(id=request_id))

    def _cancel(self, request: frames.Cancel) -> None:
        done = partial(self._reply, frames.Done(id=request.id))
        opening, closing = self._opening.get(request.request), self._closing.get(request.request)
        if opening is not None:
            opening.cancel()
            opening.add_done_callback(lambda _: done())
        elif closing is not None:
            # It goes on: to end lanes is what giving it up would come to.
            closing.add_done_callback(lambda _: done())
        elif not self._fleet.cancel(request.request, done):
            done()

    def _start(self, tasks: dict[int, asyncio.Task[None]], request_id: int, work: Work) -> None:
        task = tasks[request_id] = asyncio.create_task(self._told(request_id, work))
        task.add_done_callback(partial(self._settled, tasks, request_id))

    def _settled(self, tasks: dict[int, asyncio.Task[None]], request_id: int, task: asyncio.Task[None]) -> None:
        del tasks[request_id]
        if task.cancelled():
            self._refuse(request_id, StepTimeout("The request was cancelled."))

    async def _told(self, request_id: int, work: Work) -> None:
        try:
            await work()
        except OpenEnvGymError as error:
            self._refuse(request_id, error)
        except Exception as error:
            self._fault(request_id, error)

    def _fault(self, request_id: int, error: Exception) -> None:
        # A client that is told nothing would wait for ever.
        logger.error("A request of the vector wire ended by a fault of the server.", exc_info=error)
        self._refuse(request_id, SessionError("The server failed; its log says how."))

    def _refuse(self, request_id: int, error: OpenEnvGymError) -> None:
        self._outbox.put_nowait(codec.encode(frames.Refused(id=request_id, failure=failure(error))))

    def _reply(self, reply: frames.Reply) -> None:
        self._outbox.put_nowait(codec.encode(reply, self._client_bytes))
