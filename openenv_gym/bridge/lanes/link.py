"""One connection of the vector wire, as the thread sees it that has it: the lanes of one server.

Requests are written when their round starts, and each part of a reply settles the lanes that it is about. Everything
here but the constructors runs on the event loop, except ``send`` and ``frame_received``, which run on the caller's
thread while the connection is lent to it. No task, future or coroutine belongs to a lane or a step.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from openenv_gym_protocol.errors import (
    ConnectionLost,
    InvalidMessage,
    OpenEnvGymError,
    ProtocolFailure,
    ReplyTimeout,
    UnexpectedReply,
    copied,
)
from openenv_gym_protocol.release import product
from openenv_gym_protocol.vector.frames import Close, Hello, Open, Opened, Request
from openenv_gym_protocol.vector.repeating import Repeated
from openenv_gym_protocol.vector.requests import Arrival, VectorSession

from openenv_gym.bridge.lanes.answers import Answer, MakeError, Settle
from openenv_gym.bridge.lanes.resuming import Resuming
from openenv_gym.bridge.servers.server import Server
from openenv_gym.transports.base import Connection, Connector, Listener

_OF_ALL_LANES = ("action_space", "observation_space", "action_columns", "observation_columns", "nonfinite_rewards")
"""What a server says at each open, and has to say of all lanes of a link alike."""


class _Target(Protocol):
    """Who waits for what comes of a request."""

    def arrived(self, arrival: Arrival) -> None:
        """Takes what is new of it."""


class Repetition(Protocol):
    """A step whose reply is expected to have a known form."""

    @property
    def step(self) -> Repeated:
        """What is sent."""

    def is_answered_by(self, frame: str | bytes) -> bool:
        """Reads the reply, if it has that form; otherwise does what ``take_up`` does."""

    def take_up(self) -> None:
        """Makes it a step like any other."""


class VectorLink:
    """The lanes of one server and what is asked of them, on one connection or, if it breaks, on one after another.

    Args:
        server: Where it leads.
        connector: Opens connections to resume on; None where a link is lost with its connection.

    Attributes:
        server: Where it leads.
        name: The client's name for it; the sessions of its lanes are named after it.
        session: The wire's rules; ``session.lanes`` are the numbers of the lanes that live.
        opened: What the server said when it last opened lanes; of the spaces, it always says the same.
    """

    def __init__(self, server: Server, connector: Connector | None = None) -> None:
        self.server = server
        self.name = uuid.uuid4().hex[:12]
        self.session = VectorSession()
        self.opened: Opened | None = None
        self._connection: Connection | None = None
        self._cause: OpenEnvGymError | None = None
        self._causes: dict[int, OpenEnvGymError] = {}
        self._targets: dict[int, _Target] = {}
        self._repetition: Repetition | None = None
        self._resuming = None if connector is None else Resuming(self, connector)

    @property
    def has_connection(self) -> bool:
        """Whether a request is written at once."""
        return self._connection is not None and self._connection.is_open

    @property
    def connection(self) -> Connection | None:
        """What requests are written to; None while there is none."""
        return self._connection

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent, at once or when the link has a connection again."""
        if self._connection is None:
            return self._is_returning
        return self._connection.is_open or (self._resuming is not None and self.session.can_resume)

    @property
    def _is_returning(self) -> bool:
        return self._resuming is not None and self._resuming.is_under_way

    def cause_of(self, number: int) -> OpenEnvGymError | None:
        """Why a lane is lost, where that is known."""
        return self._causes.get(number, self._cause)

    def explained(self, error: OpenEnvGymError) -> OpenEnvGymError:
        """Why a call is given up: where its time passed without a connection, that is the reason."""
        return error if self._resuming is None else self._resuming.explained(error)

    def note_cause(self, numbers: Iterable[int], error: OpenEnvGymError) -> None:
        """Notes why lanes are lost, or will be; the first cause holds."""
        for number in numbers:
            # A copy: the error itself, once raised, would keep alive whoever caught it.
            self._causes.setdefault(number, copied(error))

    async def greet(self, connection: Connection, timeout: float) -> None:
        """Takes up a connection on which the server selected the vector wire.

        Raises:
            OpenEnvGymError: The server did not answer hello as it should; the connection is closed.
        """
        self._connection = connection
        limit = self.server.options.max_frame_bytes
        hello = Hello(
            id=self.session.next_id(), client=product(), max_frame_bytes=limit, resume=self._resuming is not None
        )
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
        opened = arrival.reply
        if not isinstance(opened, Opened):
            raise UnexpectedReply("The server did not say which lanes it opened.")
        if self.opened is not None and any(getattr(opened, key) != getattr(self.opened, key) for key in _OF_ALL_LANES):
            # What the link's lanes say is read in one form, and frames of another may look just the same.
            error = UnexpectedReply("The server opened lanes of other spaces, or of another form, than those before.")
            self.drop(error)
            raise error
        self.opened = opened
        return opened

    async def close(self) -> None:
        """Ends the lanes by closing the connection, within the transport's bound."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
        else:
            self.lose(ConnectionLost("The connection is closed."))

    def drop(self, error: OpenEnvGymError) -> None:
        """Ends the connection at once: every lane is lost."""
        connection, self._connection = self._connection, None
        may_linger = self.session.resumption.linger > 0
        self.lose(error)
        if connection is not None and may_linger:
            # A goodbye, so that the server does not keep the lanes for somebody who comes back.
            connection.dismiss()
        elif connection is not None:
            connection.abort()

    def lose(self, error: OpenEnvGymError) -> None:
        """Takes the lanes as lost; the first cause holds."""
        if self._repetition is not None:
            self._repetition.take_up()
        if self._resuming is not None:
            self._resuming.stop()
        self._cause = self._cause or copied(error)
        self._arrived(self.session.connection_lost(error))

    def go_on(self, connection: Connection, missed: Sequence[bytes]) -> Listener:
        """Takes up another connection, beginning with the frames that the server does not have."""
        self._connection = connection
        for frame in missed:
            self._write(frame)
        return self

    def send(self, request: Request, target: _Target) -> None:
        """Writes a request; the target hears of what comes of it.

        Raises:
            OpenEnvGymError: It cannot be sent; see ``VectorSession.issue``.
        """
        frame = self.session.issue(request)
        self._targets[request.id] = target
        self._write(frame)

    def repeat(self, repetition: Repetition) -> None:
        """Writes a step whose reply is expected to have a known form: nothing else is under way on this link."""
        self._repetition = repetition
        self._write(repetition.step.frame)

    def take_up(self, step: Repeated, target: _Target) -> None:
        """Makes a step one like any other: the target hears of what comes of it."""
        self._repetition = None
        self._targets[step.id] = target
        self.session.take_up(step)

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
        repetition = self._repetition
        if repetition is not None and repetition.is_answered_by(frame):
            self._repetition = None
            self.session.repeated(repetition.step)
            return
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
        """Notes that the connection ended: the link goes on on another one if it can."""
        connection, self._connection = self._connection, None
        if connection is None or self._resuming is None or not self._resuming.begin(error):
            self.lose(error)

    def _arrived(self, arrivals: Sequence[Arrival]) -> None:
        for arrival in arrivals:
            number = arrival.request.id
            target = self._targets.pop(number, None) if arrival.is_last else self._targets.get(number)
            if target is not None:
                target.arrived(arrival)

    def _write(self, frame: bytes) -> None:
        if self._is_returning:
            return  # the session keeps it for the next connection
        try:
            if self._connection is None:
                raise ConnectionLost("The connection is closed.")
            self._connection.send(frame)
        except ConnectionLost as error:
            # Otherwise the listener is about to hear how the connection ended.
            if self._resuming is None or not self.session.can_resume:
                self.connection_lost(error)

    async def _ask(self, request: Request, timeout: float | None) -> Arrival:
        waiting = _Waiting()
        self.send(request, waiting)
        try:
            async with asyncio.timeout(timeout):
                arrival = await waiting.future
        except TimeoutError:
            self._give_up_asking(request, waiting)
            raise ReplyTimeout(f"The server did not answer within {timeout:g} s.") from None
        except asyncio.CancelledError:
            self._give_up_asking(request, waiting)
            raise
        if arrival.error is not None:
            raise arrival.error
        return arrival

    def _give_up_asking(self, request: Request, waiting: _Waiting) -> None:
        self.give_up(request.id)
        self.close_lanes(waiting.opened)  # if they came just now: nobody will use them


class _Waiting:
    """A coroutine that waits for the end of a request."""

    def __init__(self) -> None:
        self.future: asyncio.Future[Arrival] = asyncio.get_running_loop().create_future()
        self.opened: Sequence[int] = ()

    def arrived(self, arrival: Arrival) -> None:
        if isinstance(arrival.reply, Opened):
            self.opened = arrival.reply.lanes
        if not self.future.done():  # the coroutine may be cancelled, and not know of it yet
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
        try:
            request = self._make(self._link.session.next_id())
            self._id = request.id
            self._link.send(request, self)
        except OpenEnvGymError as error:
            self._fail(partial(copied, error))
        except Exception as error:
            # Whoever waits must hear of it, whatever it is: on the event loop nobody else does.
            self._fail(partial(_unwritten, self.call, error))

    def go_on(self, step: Repeated, settle: Settle) -> None:
        """Takes up a step that was written already."""
        self._settle, self._id = settle, step.id
        self._link.take_up(step, self)

    def abandon(self, make_error: MakeError) -> None:
        """Gives up the lanes that have not answered: the request is cancelled by its id."""
        if self._open and self._id is not None:
            error = self._link.explained(make_error())
            self._link.note_cause(self._open, error)
            self._link.give_up(self._id)
            self._fail(partial(copied, error))

    def arrived(self, arrival: Arrival) -> None:
        """Settles the lanes of one part of the reply."""
        reply: Any = arrival.reply
        for failure in arrival.failures:
            if failure.lost and arrival.error is None:  # else the link knows
                self._link.note_cause([failure.lane], failure.error)
        lanes = () if reply is None else tuple(map(self._open.pop, reply.lanes))
        failed = {self._open.pop(failure.lane): failure.error for failure in arrival.failures}
        if arrival.error is not None:
            failed = {lane: copied(error) for lane, error in failed.items()}
        settle = self._settle
        if not self._open:
            self._settle = None  # whoever waits holds this: together they would be garbage for the collector
        if settle is not None and (lanes or failed):
            settle(Answer(self._source, self.call, lanes, reply, failed))

    def _fail(self, make_error: MakeError) -> None:
        failed, self._open = self._open, {}
        if self._settle is not None and failed:
            self._settle(Answer(self._source, self.call, errors={lane: make_error() for lane in failed.values()}))


def _unwritten(call: str, error: Exception) -> OpenEnvGymError:
    told = InvalidMessage(f"The request for {call}() cannot be written: {error}")
    told.__cause__ = error
    return told
