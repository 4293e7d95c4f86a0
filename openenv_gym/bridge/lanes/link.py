"""One connection of the vector wire, as the event loop sees it: the lanes of one server.

Requests are written when their round starts, and each part of a reply settles the lanes that it is about. Everything
here but the constructors runs on the event loop. No task, future or coroutine belongs to a lane or a step.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from openenv_gym_protocol.errors import (
    ConnectionLost,
    OpenEnvGymError,
    ProtocolFailure,
    ReplyTimeout,
    UnexpectedReply,
    copied,
)
from openenv_gym_protocol.vector.frames import Close, Hello, Open, Opened, Request
from openenv_gym_protocol.vector.requests import Arrival, VectorSession

from openenv_gym.bridge.lanes.answers import Answer, MakeError, Settle
from openenv_gym.bridge.servers import Server
from openenv_gym.transports.base import Connection


class _Target(Protocol):
    """Who waits for what comes of a request."""

    def arrived(self, arrival: Arrival) -> None:
        """Takes what is new of it."""


class VectorLink:
    """A connection and its requests.

    Args:
        server: Where it leads.

    Attributes:
        server: Where it leads.
        name: The client's name for it; the sessions of its lanes are named after it.
        session: The wire's rules; ``session.lanes`` are the numbers of the lanes that live.
        opened: What the server said when it last opened lanes.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.name = uuid.uuid4().hex[:12]
        self.session = VectorSession()
        self.opened: Opened | None = None
        self._connection: Connection | None = None
        self._targets: dict[int, _Target] = {}

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._connection is not None and self._connection.is_open

    async def greet(self, connection: Connection, timeout: float) -> None:
        """Takes up a connection on which the server selected the vector wire.

        Raises:
            OpenEnvGymError: The server did not answer hello as it should; the connection is closed.
        """
        self._connection = connection
        limit = self.server.options.max_frame_bytes
        hello = Hello(id=self.session.next_id(), client=f"openenv-gym/{_version()}", max_frame_bytes=limit)
        try:
            await self._ask(hello, timeout)
        except BaseException:
            self.drop(ConnectionLost("The connection was given up before it was used."))
            raise

    async def open(self, request: Callable[[int], Open], timeout: float | None) -> Opened:
        """Opens lanes.

        Args:
            request: Makes the request, given its id.
            timeout: Seconds until the reply must be there.

        Raises:
            OpenEnvGymError: The server refused, or is gone.
        """
        arrival = await self._ask(request(self.session.next_id()), timeout)
        if not isinstance(arrival.reply, Opened):
            raise UnexpectedReply("The server did not say which lanes it opened.")
        self.opened = arrival.reply
        return arrival.reply

    async def close(self) -> None:
        """Ends the lanes by closing the connection, within the transport's bound."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def drop(self, error: OpenEnvGymError) -> None:
        """Ends the connection at once: every lane is lost."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()
        self._arrived(self.session.connection_lost(error))

    def send(self, request: Request, target: _Target) -> None:
        """Writes a request; the target hears of what comes of it.

        Raises:
            OpenEnvGymError: It cannot be sent; see ``VectorSession.issue``.
        """
        frame = self.session.issue(request)
        self._targets[request.id] = target
        self._write(frame)

    def give_up(self, request_id: int) -> None:
        """Stops waiting for a request: it is cancelled, and its lanes are closed, as nobody knows where they stand."""
        self._targets.pop(request_id, None)
        late = sorted(self.session.open_lanes(request_id))
        frame = self.session.give_up(request_id)
        if frame is None:
            return
        self._write(frame)
        self.close_lanes(late)

    def close_lanes(self, lanes: Sequence[int]) -> None:
        """Ends lanes, and does not wait for it. Those that are lost already are left out."""
        living = sorted(self.session.lanes.intersection(lanes))
        if living:
            self._write(self.session.issue(Close(id=self.session.next_id(), lanes=living)))

    def frame_received(self, frame: str | bytes) -> None:
        """Hands what a frame says to who waits for it."""
        try:
            arrival = self.session.receive(frame)
        except ProtocolFailure as error:
            self.drop(error)
            return
        for reply in self.session.frames_to_send():
            self._write(reply)
        if arrival is not None:
            self._arrived([arrival])

    def connection_lost(self, error: OpenEnvGymError) -> None:
        """Notes that the connection ended."""
        self._connection = None
        self._arrived(self.session.connection_lost(error))

    def _arrived(self, arrivals: Sequence[Arrival]) -> None:
        for arrival in arrivals:
            number = arrival.request.id
            target = self._targets.pop(number, None) if arrival.is_last else self._targets.get(number)
            if target is not None:
                target.arrived(arrival)

    def _write(self, frame: bytes) -> None:
        try:
            if self._connection is None:
                raise ConnectionLost("The connection is closed.")
            self._connection.send(frame)
        except ConnectionLost as error:
            self.connection_lost(error)

    async def _ask(self, request: Request, timeout: float | None) -> Arrival:
        waiting = _Waiting()
        self.send(request, waiting)
        try:
            async with asyncio.timeout(timeout):
                arrival = await waiting.future
        except TimeoutError:
            self.give_up(request.id)
            raise ReplyTimeout(f"The server did not answer within {timeout:g} s.") from None
        except asyncio.CancelledError:
            self.give_up(request.id)
            raise
        if arrival.error is not None:
            raise arrival.error
        return arrival


class _Waiting:
    """A coroutine that waits for the end of a request."""

    def __init__(self) -> None:
        self.future: asyncio.Future[Arrival] = asyncio.get_running_loop().create_future()

    def arrived(self, arrival: Arrival) -> None:
        if not self.future.done():
            self.future.set_result(arrival)


class LinkAsk:
    """A request to some lanes of one link.

    Args:
        source: Who can read its answers.
        link: The link.
        numbers: The lanes by their numbers on the wire.
        call: What is asked, such as ``step``.
        request: Makes the request, given its id; its lanes are the numbers, in their order.
    """

    def __init__(
        self, source: Any, link: VectorLink, numbers: Mapping[int, int], call: str, request: Callable[[int], Request]
    ) -> None:
        self.lanes = tuple(numbers.values())
        self.call = call
        self._source = source
        self._link = link
        self._open = dict(numbers)
        self._make = request
        self._id: int | None = None
        self._settle: Settle | None = None

    def begin(self, settle: Settle) -> None:
        """Writes the request."""
        self._settle = settle
        request = self._make(self._link.session.next_id())
        self._id = request.id
        try:
            self._link.send(request, self)
        except OpenEnvGymError as error:
            self._fail(partial(copied, error))

    def abandon(self, make_error: MakeError) -> None:
        """Gives up the lanes that have not answered: the request is cancelled by its id."""
        if self._open and self._id is not None:
            self._link.give_up(self._id)
            self._fail(make_error)

    def arrived(self, arrival: Arrival) -> None:
        """Settles the lanes of one part of the reply."""
        reply: Any = arrival.reply
        lanes = () if reply is None else tuple([self._open.pop(number) for number in reply.lanes])
        failed = {self._open.pop(failure.lane): failure.error for failure in arrival.failures}
        if arrival.error is not None:
            failed = {lane: copied(error) for lane, error in failed.items()}
        if self._settle is not None and (lanes or failed):
            self._settle(Answer(self._source, self.call, lanes, reply, failed))

    def _fail(self, make_error: MakeError) -> None:
        failed, self._open = self._open, {}
        if self._settle is not None and failed:
            self._settle(Answer(self._source, self.call, errors={lane: make_error() for lane in failed.values()}))


def _version() -> str:
    try:
        return version("openenv-gym")
    except PackageNotFoundError:
        return "0"  # run from a folder that is not installed
