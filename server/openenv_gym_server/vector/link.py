"""What a client of the vector wire has at the server: lanes, requests under way, and answers that it may not have yet.

A link is carried by one connection at a time. When that breaks, a link that its client can resume lingers: what is
under way goes on, and its answers are kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol, cast

from openenv_gym_protocol.errors import (
    CapacityReached,
    OpenEnvGymError,
    ProtocolFailure,
    SessionError,
    StepTimeout,
)
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.frames import UNREADABLE
from openenv_gym_protocol.vector.resuming import KeptFrames

from openenv_gym_server.asgi import ended
from openenv_gym_server.service import Service
from openenv_gym_server.sockets.line import Line
from openenv_gym_server.vector.asking import ASKED, LanesRequest
from openenv_gym_server.vector.fleet import Fleet
from openenv_gym_server.vector.lane import Member
from openenv_gym_server.vector.offer import Offer
from openenv_gym_server.vector.parts import refusal

logger = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]


class Carrier(Protocol):
    """The connection that a link is on."""

    def put(self, frame: bytes) -> None:
        """Sends a frame."""

    def fence(self) -> None:
        """Ends the connection, because its link is on another one now: nothing that it still brings is read."""

    def lend(self, when_ended: Callable[[], None]) -> Line | None:
        """Lends the connection to a thread, if nothing else is read or written."""

    def take_back(self) -> None:
        """Takes the connection back, if it is lent."""


class Link:
    """One client's link. Used on the server's event loop only.

    Args:
        service: The server's parts.
        offer: What it offers.
        client_bytes: The largest frame that the client accepts.
        carrier: The connection that it begins on.
        forget: Called once it cannot be resumed any more; None where that is so from the beginning.

    Attributes:
        is_ended: Its lanes are gone.
    """

    def __init__(
        self,
        service: Service,
        offer: Offer,
        client_bytes: int,
        carrier: Carrier,
        forget: Callable[[Link], None] | None,
    ) -> None:
        self.is_ended = False
        self._service = service
        self._offer = offer
        self._client_bytes = client_bytes
        self._carrier: Carrier | None = carrier
        self._forget_link = forget
        self._kept = None if forget is None else KeptFrames()
        self._received = 0
        self._epoch = 0
        self._lingering: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._opening: dict[int, asyncio.Task[None]] = {}
        self._closing: dict[int, asyncio.Task[None]] = {}
        self._under_way: dict[int, int] = {}
        self._under_way_bytes = 0
        self._cancels: set[int] = set()
        self._most = 2 * service.config.max_lanes + 64
        self._most_bytes = 2 * service.config.max_frame_bytes
        self._fleet = Fleet(service, offer, self)
        self._fleet.client_bytes = client_bytes

    @property
    def is_busy(self) -> bool:
        """Requests are under way."""
        return bool(self._under_way)

    def resume(self, request: frames.Resume, carrier: Carrier) -> list[bytes]:
        """Goes on on another connection; the one before, should it be open still, is fenced off.

        Returns:
            The frames to begin with there.

        Raises:
            ProtocolFailure: The request is older than one that came before, or wrong about what was received.
        """
        self.take_back()
        if self._kept is None or request.epoch <= self._epoch:
            raise ProtocolFailure(f"The link was resumed by a later request than this one of epoch {request.epoch}.")
        missed = self._kept.after(request.ack)
        self._epoch = request.epoch
        before, self._carrier = self._carrier, carrier
        if before is not None:
            before.fence()
        self._stop_lingering()
        logger.info("A link is resumed; %d frames are sent again.", len(missed))
        return [codec.encode(frames.Resumed(id=request.id, received=self._received)), *missed]

    async def lose_carrier(self, carrier: Carrier, *, is_over: bool) -> None:
        """Notes that a connection ended; that of an earlier connection changes nothing.

        Args:
            carrier: The connection.
            is_over: The client said so, or the server ends it: the lanes end now. Otherwise the link lingers.
        """
        if carrier is not self._carrier or self.is_ended:
            return
        self._carrier = None
        lanes = self._fleet.size
        if is_over or self._kept is None or not (lanes or self._opening):
            await self.end()
            return
        linger = self._service.config.linger
        logger.info("The connection of %d lanes broke; they linger for %g s.", lanes, linger)
        self._lingering = asyncio.get_running_loop().call_later(linger, self._give_up, "Nobody came back for them")

    async def end(self) -> None:
        """Ends the lanes and all that is under way."""
        if self.is_ended:
            return
        self.take_back()  # while there is a carrier to take it from
        self.is_ended = True
        self._carrier = None
        self._stop_lingering()
        self._keep_nothing()
        for task in [*self._opening.values(), *self._closing.values()]:
            await ended(task)
        self._fleet.end()

    def take(self, frame: str | bytes) -> None:
        """Takes a frame of the connection that carries the link."""
        if self.is_ended:
            return  # the server is about to close the connection
        self._received += 1
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
            if self._kept is not None:
                self._kept.confirm(request.ack)
            self._check_room(request)
            self._under_way[request.id] = len(frame)
            self._under_way_bytes += len(frame)
            self._answer(request)
        except OpenEnvGymError as error:
            self._refuse(request.id, error)
        except Exception as error:
            self._fault(request.id, error)
        if type(request) is frames.Cancel or not self._is_open(request.id):
            # Cancels are counted apart, so that they take no room from what they give up.
            self.answered(request.id)

    def lend(self, when_ended: Callable[[], None]) -> Line | None:
        """Lends the connection to the lanes' thread, if nothing but the step that has just come is under way."""
        is_idle = len(self._under_way) == 1 and not (self._opening or self._closing or self._cancels)
        return self._carrier.lend(when_ended) if is_idle and self._carrier is not None else None

    def take_back(self) -> None:
        """Takes the connection back, if it is lent."""
        if self._carrier is not None:
            self._carrier.take_back()

    def accept(self, message: bytes, request: frames.Step) -> bool:
        """Counts a step that came on a lent line, or leaves it to ``take``: on the thread, under the line's lock."""
        if len(message) > self._service.config.max_frame_bytes:
            return False
        if self._kept is not None:
            self._kept.confirm(request.ack)
        self._received += 1
        return True

    def keep(self, frame: bytes) -> None:
        """Keeps an answer for as long as the client may not have it."""
        if self._kept is not None:
            self._kept.add(frame)
            if self._kept.size > self._most_bytes:
                self._overflow()

    def note_under_way(self, request_id: int) -> None:
        """Learns that a request that came on a lent line is under way; it is alone, and takes no room from others."""
        self._under_way[request_id] = 0

    def send(self, frame: bytes) -> None:
        """Sends a frame, or keeps it for the next connection."""
        self.keep(frame)
        if self._carrier is not None:
            self._carrier.put(frame)

    def answered(self, request_id: int) -> None:
        """Learns that a request was answered to its end."""
        self._under_way_bytes -= self._under_way.pop(request_id, 0)

    def _overflow(self) -> None:
        """Gives up the way back, which would be a guess once an answer is missing."""
        self._keep_nothing()
        logger.warning("More answers are unread than are kept: their link cannot be resumed.")
        if self._carrier is None:
            self._give_up("More answers were kept for them than the server keeps")

    def _give_up(self, why: str) -> None:
        logger.info("%s: %d lanes end.", why, self._fleet.size)
        self._ending = asyncio.ensure_future(self.end())

    def _keep_nothing(self) -> None:
        if self._kept is not None and self._forget_link is not None:
            self._kept = None
            self._forget_link(self)

    def _stop_lingering(self) -> None:
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None

    def _is_open(self, request_id: int) -> bool:
        return (
            self._fleet.has_pending(request_id)
            or request_id in self._opening
            or request_id in self._closing
            or request_id in self._cancels
        )

    def _check_room(self, request: frames.Request) -> None:
        # Reading goes on, so that a request can be given up, and the end of the connection is noticed.
        count, size = len(self._under_way), self._under_way_bytes
        if type(request) is frames.Cancel:
            count, size = len(self._cancels), 0
        if (count >= self._most or size >= self._most_bytes) and type(request) is not frames.Close:
            raise CapacityReached(
                f"{count} requests of this connection are under way, in {size} bytes; it may have {self._most}, in "
                f"{self._most_bytes} bytes. Wait for their answers."
            )

    def _answer(self, request: frames.Request) -> None:
        if type(request) in ASKED:
            self._fleet.ask(cast(LanesRequest, request))
        elif isinstance(request, frames.Open):
            self._start(self._opening, request.id, partial(self._open, request))
        elif isinstance(request, frames.Close):
            members = self._fleet.closing(request.lanes)
            self._start(self._closing, request.id, partial(self._close, request.id, members))
        elif isinstance(request, frames.Cancel):
            self._cancel(request)
        else:
            raise ProtocolFailure("There is one hello or resume a connection.")

    async def _open(self, request: frames.Open) -> None:
        lanes = await self._fleet.open(request)
        try:
            self._reply(self._offer.opened(request.id, lanes))
        except OpenEnvGymError:
            # A client that never learns of its lanes would never close them.
            self._fleet.abandon(lanes)
            raise

    async def _close(self, request_id: int, members: list[Member]) -> None:
        await self._fleet.close(members)
        self._reply(frames.Done(id=request_id))

    def _cancel(self, request: frames.Cancel) -> None:
        done = partial(self._cancelled, request.id)
        self._cancels.add(request.id)
        opening, closing = self._opening.get(request.request), self._closing.get(request.request)
        if opening is not None:
            opening.cancel()
            opening.add_done_callback(lambda _: done())
        elif closing is not None:
            # It goes on: to end lanes is what giving it up would come to.
            closing.add_done_callback(lambda _: done())
        elif not self._fleet.cancel(request.request, done):
            done()

    def _cancelled(self, cancel_id: int) -> None:
        self._cancels.discard(cancel_id)
        self._reply(frames.Done(id=cancel_id))

    def _start(self, tasks: dict[int, asyncio.Task[None]], request_id: int, work: Work) -> None:
        task = tasks[request_id] = asyncio.create_task(self._told(request_id, work))
        task.add_done_callback(partial(self._settled, tasks, request_id))

    def _settled(self, tasks: dict[int, asyncio.Task[None]], request_id: int, task: asyncio.Task[None]) -> None:
        del tasks[request_id]
        self.answered(request_id)
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
        self._service.counters.violations += isinstance(error, ProtocolFailure)
        self.send(refusal(request_id, error, self._client_bytes))

    def _reply(self, reply: frames.Reply) -> None:
        self.send(codec.encode(reply, self._client_bytes))
