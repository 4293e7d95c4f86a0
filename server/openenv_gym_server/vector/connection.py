"""One connection of the vector wire: moves frames between a socket and the link that it carries."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from openenv_gym_protocol.errors import OpenEnvGymError, ProtocolFailure
from openenv_gym_protocol.vector import codec, frames

from openenv_gym_server.asgi import NORMAL, SERVICE_RESTART, TOO_LARGE, VIOLATIONS
from openenv_gym_server.callers import CALLER
from openenv_gym_server.service import Service
from openenv_gym_server.sockets.base import Socket
from openenv_gym_server.sockets.line import Line
from openenv_gym_server.vector.link import Link
from openenv_gym_server.vector.links import Links
from openenv_gym_server.vector.offer import Offer
from openenv_gym_server.vector.parts import refusal

logger = logging.getLogger(__name__)


class VectorConnection:
    """The conversation of one accepted connection.

    Args:
        service: The server's parts.
        offer: What it offers.
        links: The links that can be resumed.
        socket: Where the client is.
    """

    def __init__(self, service: Service, offer: Offer, links: Links, socket: Socket) -> None:
        self._service = service
        self._offer = offer
        self._links = links
        self._socket = socket
        self._caller = CALLER.get()
        self._link: Link | None = None
        self._is_over = False
        """The client said that it is done, or broke a rule: its link does not linger."""
        self._has_ended = False
        self._is_going_on = False
        self._losing: asyncio.Task[None] | None = None
        self._waiting: deque[str | bytes] = deque()
        self._unsent = 0
        self._unsent_bytes = 0
        self._most = 2 * service.config.max_lanes + 64
        self._max_frame_bytes = service.config.max_frame_bytes
        self._most_bytes = 2 * service.config.max_frame_bytes

    def receive(self, frame: str | bytes) -> None:
        """Takes a frame. Whoever reads no answers is read no further; its end is noticed by writing to it."""
        if self._waiting or self._is_full():
            self._waiting.append(frame)
            self._socket.pause_reading()
        else:
            self._take(frame)

    def sent(self, frame: str | bytes) -> None:
        """Makes room for the next answer."""
        self._unsent -= 1
        self._unsent_bytes -= len(frame)
        if self._waiting:
            self._go_on()

    @property
    def is_busy(self) -> bool:
        """Answers are still to come."""
        return bool(self._waiting or self._unsent) or (self._link is not None and self._link.is_busy)

    def end(self) -> None:
        """Ends the link, or lets it linger."""
        self._has_ended = True
        self._service.counters.violations += self._socket.close_code in VIOLATIONS
        self._waiting.clear()
        link, self._link = self._link, None
        if link is not None:
            is_over = self._is_over or self._socket.close_code in (NORMAL, SERVICE_RESTART)
            self._losing = asyncio.ensure_future(link.lose_carrier(self, is_over=is_over))

    async def finish(self) -> None:
        """Waits until the link has ended, if it does."""
        if self._losing is not None:
            await self._losing

    def put(self, frame: bytes) -> None:
        """Sends a frame."""
        self._unsent += 1
        self._unsent_bytes += len(frame)
        self._socket.send(frame)

    def lend(self, when_ended: Callable[[], None]) -> Line | None:
        """Lends the connection to a thread, if nothing waits to be taken or to leave."""
        return None if self._waiting or self._unsent else self._socket.lend(when_ended)

    def take_back(self) -> None:
        """Takes the connection back, if it is lent."""
        self._socket.take_back()

    def fence(self) -> None:
        """Ends the connection, because its link is on another one now: nothing that it still brings is read."""
        self._link = None
        self._has_ended = True
        self._waiting.clear()
        self._socket.close(NORMAL)

    def _is_full(self) -> bool:
        return self._unsent >= self._most or self._unsent_bytes >= self._most_bytes

    def _go_on(self) -> None:
        if self._is_going_on:
            return  # what is answered at once is sent at once: whoever goes on goes on
        self._is_going_on = True
        try:
            while self._waiting and not self._is_full():
                self._take(self._waiting.popleft())
        finally:
            self._is_going_on = False
        if not self._waiting:
            self._socket.resume_reading()

    def _take(self, frame: str | bytes) -> None:
        if self._has_ended:
            return
        CALLER.set(self._caller)  # what a transport calls runs in no request's context
        if len(frame) > self._max_frame_bytes:
            self._is_over = True
            self._socket.close(TOO_LARGE)
        elif self._link is not None:
            self._link.take(frame)
        else:
            self._greet_or_resume(frame)

    def _greet_or_resume(self, frame: str | bytes) -> None:
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
