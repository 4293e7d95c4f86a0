"""A client's use of one connection of the vector wire, without input or output.

Every request has an id, so that many are open at once and each reply finds its own. The parts of a reply are checked
against what was asked: a lane that nobody asked for, or that answers twice, breaks the wire's rules, and nothing
that such a server says may be believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from openenv_gym_protocol import errors
from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.failures import error_of
from openenv_gym_protocol.vector.frames import Column, Reply, Request
from openenv_gym_protocol.vector.repeating import Repeated, StepForm
from openenv_gym_protocol.vector.resuming import Resumption

_ANSWERS: dict[type, type] = {
    frames.Hello: frames.Welcome,
    frames.Open: frames.Opened,
    frames.Reset: frames.Rows,
    frames.Step: frames.Rows,
    frames.State: frames.Values,
    frames.Render: frames.Values,
    frames.Call: frames.Values,
    frames.Get: frames.Values,
    frames.Set: frames.Values,
    frames.Cancel: frames.Done,
    frames.Close: frames.Done,
}
"""What answers each request, besides ``refused``."""


class VectorState(Enum):
    """Where a connection stands."""

    NEW = "new"
    """Nothing was sent yet."""
    GREETED = "greeted"
    """Hello was sent and not answered yet."""
    READY = "ready"
    """Requests may be sent."""
    LOST = "lost"
    """The connection is gone, or not to be used again."""


class LaneFailure(NamedTuple):
    """A lane that failed.

    Attributes:
        lane: Its number on the wire.
        error: Why.
        lost: Whether it is gone; otherwise it goes on where it was.
    """

    lane: int
    error: OpenEnvGymError
    lost: bool


_ABOUT_NO_LANES = (frames.Hello, frames.Resume, frames.Open, frames.Cancel)
_IN_PARTS = (frames.Rows, frames.Values)


class Arrival(NamedTuple):
    """What is new of one request.

    Attributes:
        request: The request, as it was sent.
        reply: The reply or the part of one, for the lanes that succeeded; None where the request failed as a whole.
        failures: The lanes that failed; all that were still open when the request failed as a whole.
        error: Why the request failed as a whole.
        is_last: Whether nothing more comes of this request.
    """

    request: Request
    reply: Reply | None = None
    failures: tuple[LaneFailure, ...] = ()
    error: OpenEnvGymError | None = None
    is_last: bool = True


@dataclass
class PendingRequest:
    """A request that is not answered to its end.

    Attributes:
        request: What was sent.
        open_lanes: The lanes that are still to answer.
        is_given_up: Nobody waits for it any more: what still comes of it is dropped.
        number: Which frame of the link it is.
    """

    request: Request
    open_lanes: set[int] = field(default_factory=set)
    is_given_up: bool = False
    number: int = 0

    def settle(self, lanes: Sequence[int], *, is_last: bool) -> None:
        """Notes the lanes of one part; of a part that is wrong, none.

        Raises:
            UnexpectedReply: One of them is not open, or the last part leaves one open.
        """
        if not self.open_lanes.issuperset(lanes):
            strangers = [lane for lane in lanes if lane not in self.open_lanes]
            raise errors.UnexpectedReply(
                f"The server's reply to request {self.request.id} has lanes {strangers[:10]} that the request does "
                "not have, or that answered it before."
            )
        if len(lanes) == len(self.open_lanes):  # no reply names a lane twice
            self.open_lanes = set()
            return
        left = self.open_lanes.difference(lanes)
        if is_last:
            raise errors.UnexpectedReply(
                f"The server's last reply to request {self.request.id} leaves lanes {sorted(left)[:10]} open."
            )
        self.open_lanes = left


class VectorSession:
    """The requests of one connection, seen from its client.

    A shell around it writes what ``issue``, ``give_up`` and ``frames_to_send`` return, gives what it reads to
    ``receive`` and does what the arrivals say. It calls ``connection_lost`` when the connection ended, and ends it
    itself when ``receive`` raised. Where ``can_resume`` allows it may open another connection instead: ``resumption``
    says what to write there first and what then; meanwhile requests may be issued, and need not be written.

    Attributes:
        state: Where the connection stands.
        welcome: What the server said of itself; None before.
        lanes: The numbers of the lanes that are open and not lost.
        resumption: What there is to know for resuming.
    """

    def __init__(self) -> None:
        self.state = VectorState.NEW
        self.welcome: frames.Welcome | None = None
        self.lanes: set[int] = set()
        self.resumption = Resumption()
        self._cause: OpenEnvGymError | None = None
        self._pending: dict[int, PendingRequest] = {}
        self._last_id = -1
        self._unused_ids: set[int] = set()
        self._known_lanes: set[int] = set()
        self._to_send: list[bytes] = []

    @property
    def can_resume(self) -> bool:
        """Whether there is something to go on with on another connection, and a server that keeps it."""
        return self.state is VectorState.READY and self.resumption.linger > 0 and bool(self.lanes or self._pending)

    def next_id(self) -> int:
        """The id of the next request; every call gives another."""
        self._last_id += 1
        self._unused_ids.add(self._last_id)
        return self._last_id

    def resume(self) -> bytes:
        """The frame that begins another connection; its id is used up."""
        number = self.next_id()
        self._unused_ids.discard(number)
        return self.resumption.request(number)

    def issue(self, request: Request) -> bytes:
        """Opens a request.

        Args:
            request: With an id of ``next_id`` that was not used yet.

        Returns:
            The frame to write.

        Raises:
            SessionLost: The connection is lost, or a lane of the request is lost, closed or was never opened; nothing
                is sent.
            FrameTooLarge: The frame is larger than the server accepts.
            InvalidAction: A step holds something that msgpack cannot carry.
            InvalidMessage: Another request does.
            ConfigurationError: Its turn is not now (hello is the first and comes once), or its id is none of
                ``next_id`` or was used.
        """
        lanes = lanes_of(request)
        self._check(request, lanes)
        answering = set() if isinstance(request, frames.Close) else set(lanes)
        limit = None if self.welcome is None else self.welcome.max_frame_bytes
        frame = self._written(PendingRequest(request, answering), limit)
        if isinstance(request, frames.Hello):
            self.state = VectorState.GREETED
        elif isinstance(request, frames.Close):
            self.lanes.difference_update(lanes)
        return frame

    def repeat(self, form: StepForm, columns: Sequence[Column]) -> Repeated | None:
        """Opens a step that is one of many alike, for which less has to be done than for others.

        Either ``repeated`` or ``take_up`` has to follow before anything else that concerns replies.

        Returns:
            What to write; None where it has to be issued as any other, which may say why.
        """
        if self.state is not VectorState.READY or self.welcome is None or not self.lanes.issuperset(form.lanes):
            return None
        frame = form.write(self._last_id + 1, self.resumption.received, columns)
        if len(frame) > self.welcome.max_frame_bytes:
            return None
        self._last_id += 1
        return Repeated(self._last_id, frame, self.resumption.sent(frame))

    def repeated(self, step: Repeated) -> None:
        """Notes that the step was answered, by a frame that ``receive`` has not seen."""
        self.resumption.received += 1
        self.resumption.answered(step.number)

    def take_up(self, step: Repeated) -> Request:
        """Makes a step one like any other, which ``receive`` sees to."""
        request = codec.decode_request(step.frame)
        self._pending[step.id] = PendingRequest(request, set(lanes_of(request)), number=step.number)
        return request

    def receive(self, frame: str | bytes) -> Arrival | None:
        """Reads a frame.

        Returns:
            What is new, or None when nobody waits for it: the request was given up.

        Raises:
            ProtocolFailure: The frame breaks the wire's rules. The session is lost; the shell ends the connection
                and calls ``connection_lost``.
        """
        if self.state is VectorState.LOST:
            return None
        self.resumption.received += 1
        try:
            return self._arrival(codec.decode_reply(frame))
        except errors.ProtocolFailure as error:
            self._lose(error)
            raise

    def give_up(self, request_id: int) -> bytes | None:
        """Stops waiting for a request, because its time is over or its caller went away.

        Whatever still comes of it is dropped, except that lanes which the server calls lost are lost.

        Returns:
            The frame that cancels it, or None when the request is answered, given up already, or the connection
            is lost.
        """
        pending = self._pending.get(request_id)
        if pending is None or pending.is_given_up or self.state is VectorState.LOST:
            return None
        pending.is_given_up = True
        return self._unawaited(frames.Cancel(id=self.next_id(), request=request_id))

    def frames_to_send(self) -> list[bytes]:
        """Frames that the session itself has to write after ``receive``; each is returned once."""
        taken, self._to_send = self._to_send, []
        return taken

    def open_lanes(self, request_id: int) -> frozenset[int]:
        """The lanes that have not answered a request yet; none of a request that is answered or given up."""
        pending = self._pending.get(request_id)
        return frozenset() if pending is None or pending.is_given_up else frozenset(pending.open_lanes)

    def connection_lost(self, error: OpenEnvGymError) -> list[Arrival]:
        """Notes that the connection ended: every lane is lost.

        Returns:
            The end of each request that somebody waits for, in the order in which they were sent. Its error is that
            of the broken rule, where one was broken before.
        """
        cause = self._cause or error
        self._lose(cause)
        pending, self._pending = self._pending, {}
        return [_failed(one, cause, lost=True) for one in pending.values() if not one.is_given_up]

    def _check(self, request: Request, lanes: Sequence[int]) -> None:
        if self.state is VectorState.LOST:
            raise errors.SessionLost(f"The connection is lost ({self._cause}); its lanes are gone.") from self._cause
        if isinstance(request, frames.Hello) != (self.state is VectorState.NEW):
            raise errors.ConfigurationError("The first request of a connection is hello, which comes once.")
        if request.id not in self._unused_ids:
            raise errors.ConfigurationError(f"The id {request.id} is not a new one of next_id().")
        # Closing what is closed harms nobody.
        if not self.lanes.issuperset(lanes) and not isinstance(request, frames.Close):
            gone = [lane for lane in lanes if lane not in self.lanes]
            raise errors.SessionLost(f"The lanes {gone[:10]} are lost or closed; open others.")

    def _arrival(self, reply: Reply) -> Arrival | None:
        pending = self._pending.get(reply.id)
        if pending is None:
            raise self._unasked(reply)
        if pending.number:
            self.resumption.answered(pending.number)
        if isinstance(reply, frames.Refused):
            del self._pending[reply.id]
            return None if pending.is_given_up else _failed(pending, error_of(reply.failure), lost=False)
        if type(reply) is not _ANSWERS[type(pending.request)]:
            raise errors.UnexpectedReply(
                f"The server answered {_name(pending.request)} request {reply.id} with {_name(reply)}."
            )
        arrival = self._read(pending, reply)
        if arrival.is_last:
            del self._pending[reply.id]
        return None if pending.is_given_up else arrival

    def _read(self, pending: PendingRequest, reply: Reply) -> Arrival:
        if isinstance(reply, _IN_PARTS):
            return self._read_part(pending, reply)
        if isinstance(reply, frames.Welcome):
            self.welcome = reply
            self.resumption.welcomed(reply)
            self.state = VectorState.READY
        elif isinstance(reply, frames.Opened):
            self._add_lanes(pending, reply)
        elif isinstance(pending.request, frames.Cancel):
            self._pending.pop(pending.request.request, None)
        return Arrival(request=pending.request, reply=reply)

    def _read_part(self, pending: PendingRequest, reply: frames.Rows | frames.Values) -> Arrival:
        failed = tuple([_lane_failure(failure) for failure in reply.failures])
        is_last = not (isinstance(reply, frames.Rows) and reply.more)
        settled = [*reply.lanes, *(failure.lane for failure in failed)] if failed else reply.lanes
        pending.settle(settled, is_last=is_last)
        self.lanes.difference_update([failure.lane for failure in failed if failure.lost])
        return Arrival(request=pending.request, reply=reply, failures=failed, is_last=is_last)

    def _add_lanes(self, pending: PendingRequest, reply: frames.Opened) -> None:
        asked = pending.request.lanes if isinstance(pending.request, frames.Open) else 0
        if len(reply.lanes) != asked or not self._known_lanes.isdisjoint(reply.lanes):
            raise errors.UnexpectedReply(
                f"The server opened {len(reply.lanes)} lanes where {asked} new ones were asked for."
            )
        self._known_lanes.update(reply.lanes)
        if pending.is_given_up:
            # The lanes came too late for their caller: without this they would hold the server's slots.
            self._to_send.append(self._unawaited(frames.Close(id=self.next_id(), lanes=reply.lanes)))
        else:
            self.lanes.update(reply.lanes)

    def _unawaited(self, request: Request) -> bytes:
        return self._written(PendingRequest(request, is_given_up=True), None)

    def _written(self, pending: PendingRequest, max_bytes: int | None) -> bytes:
        request = pending.request
        self._unused_ids.discard(request.id)
        if self.resumption.linger > 0:
            request.ack = self.resumption.received
        frame = codec.encode(request, max_bytes)
        if not isinstance(request, frames.Hello):
            pending.number = self.resumption.sent(frame)
        self._pending[request.id] = pending
        return frame

    def _unasked(self, reply: Reply) -> errors.ProtocolFailure:
        if isinstance(reply, frames.Refused) and reply.id == frames.UNREADABLE:
            return errors.ProtocolFailure(f"The server could not read a frame: {reply.failure.message}")
        return errors.UnexpectedReply(f"The server sent {_name(reply)} to request {reply.id}, which is not open.")

    def _lose(self, cause: OpenEnvGymError) -> None:
        self.state = VectorState.LOST
        self._cause = cause
        self.lanes.clear()
        self._to_send.clear()


def lanes_of(request: Request) -> list[int]:
    """The lanes that a request is about; none for those that are about the connection."""
    return [] if isinstance(request, _ABOUT_NO_LANES) else request.lanes


def _lane_failure(failure: frames.Failure) -> LaneFailure:
    # Rows and Values refuse failures of no lane when they are read.
    assert failure.lane is not None
    return LaneFailure(failure.lane, error_of(failure), failure.lost)


def _failed(pending: PendingRequest, error: OpenEnvGymError, *, lost: bool) -> Arrival:
    failures = tuple(LaneFailure(lane, error, lost) for lane in lanes_of(pending.request) if lane in pending.open_lanes)
    return Arrival(request=pending.request, failures=failures, error=error)


def _name(message: Request | Reply) -> str:
    return str(message.__struct_config__.tag)
