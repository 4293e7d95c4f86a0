"""A client's requests on one connection: each reply finds its own; a server that breaks a rule is not believed."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.errors import (
    CapacityReached,
    ConfigurationError,
    ConnectionLost,
    FrameTooLarge,
    InvalidAction,
    ProtocolFailure,
    SessionLost,
    StepTimeout,
    UnexpectedReply,
)
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.failures import failure_of
from openenv_gym_protocol.vector.frames import Batch
from openenv_gym_protocol.vector.requests import Arrival, VectorSession, VectorState, lanes_of


class Connection:
    """A session with the frames that go to and fro; the test is the server.

    Attributes:
        session: The session.
    """

    def __init__(self, lanes: int = 0, max_frame_bytes: int = 10_000) -> None:
        self.session = VectorSession()
        self.send(frames.Hello(id=self.session.next_id(), client="test", max_frame_bytes=10_000))
        self.arrive(
            frames.Welcome(
                id=0, server="test", max_frame_bytes=max_frame_bytes, max_lanes=9, max_depth=64, dtypes=["int64"]
            )
        )
        if lanes:
            opened = self.send(frames.Open(id=self.session.next_id(), lanes=lanes))
            self.arrive(frames.Opened(id=opened.id, lanes=list(range(lanes))))

    def send(self, request: frames.Request) -> frames.Request:
        """Issues a request and reads its frame."""
        sent = codec.decode_request(self.session.issue(request))
        assert sent == request
        return request

    def arrive(self, reply: frames.Reply) -> Arrival | None:
        """Lets the session read a reply."""
        return self.session.receive(codec.encode(reply))

    def step(self, lanes: Sequence[int]) -> int:
        """Issues a step and returns its id."""
        actions = Batch(columns=[struct.pack(f"<{len(lanes)}q", *lanes)])
        return self.send(frames.Step(id=self.session.next_id(), lanes=list(lanes), actions=actions)).id


def part(request_id: int, lanes: list[int], *, more: bool = False, **keys: Any) -> frames.Rows:
    """Rows of some lanes."""
    return frames.Rows(
        id=request_id,
        lanes=lanes,
        observations=Batch(columns=[bytes(8 * len(lanes))]) if lanes else None,
        rewards=bytes(8 * len(lanes)),
        flags=bytes(len(lanes)),
        more=more,
        **keys,
    )


def late(lane: int, *, lost: bool = False) -> frames.Failure:
    """A failure of one lane."""
    return failure_of(StepTimeout("late"), lane, lost=lost)


def test_a_connection_begins_with_hello() -> None:
    session = VectorSession()
    with pytest.raises(ConfigurationError):
        session.issue(frames.Open(id=session.next_id(), lanes=1))
    session.issue(frames.Hello(id=session.next_id(), client="", max_frame_bytes=1))
    assert session.state is VectorState.GREETED
    with pytest.raises(ConfigurationError):
        session.issue(frames.Hello(id=session.next_id(), client="", max_frame_bytes=1))


def test_what_the_server_says_of_itself_is_kept() -> None:
    connection = Connection(max_frame_bytes=200)
    assert connection.session.state is VectorState.READY
    assert connection.session.welcome is not None
    assert connection.session.welcome.max_lanes == 9


def test_requests_may_follow_hello_before_it_is_answered() -> None:
    session = VectorSession()
    session.issue(frames.Hello(id=session.next_id(), client="", max_frame_bytes=1))
    session.issue(frames.Open(id=session.next_id(), lanes=2))
    assert session.receive(codec.encode(frames.Opened(id=1, lanes=[0, 1]))) is not None
    assert session.lanes == {0, 1}


def test_every_id_is_new() -> None:
    connection = Connection()
    ids = [connection.session.next_id() for _ in range(100)]
    assert len(set(ids)) == 100
    with pytest.raises(ConfigurationError):
        connection.session.issue(frames.Open(id=0, lanes=1))
    with pytest.raises(ConfigurationError):
        connection.session.issue(frames.Open(id=ids[-1] + 1, lanes=1))
    connection.send(frames.Open(id=ids[0], lanes=1))
    with pytest.raises(ConfigurationError):
        connection.session.issue(frames.Open(id=ids[0], lanes=1))


def test_replies_find_their_requests_in_any_order() -> None:
    connection = Connection(lanes=3)
    first, second = connection.step([0, 1]), connection.step([2])
    arrival = connection.arrive(part(second, [2]))
    assert arrival is not None
    assert (arrival.request.id, arrival.is_last, arrival.error, arrival.failures) == (second, True, None, ())
    arrival = connection.arrive(part(first, [1, 0]))
    assert arrival is not None
    assert arrival.request.id == first
    assert isinstance(arrival.reply, frames.Rows)
    assert arrival.reply.lanes == [1, 0]


def test_the_parts_of_a_reply_settle_their_lanes() -> None:
    connection = Connection(lanes=3)
    request = connection.step([0, 1, 2])
    assert connection.session.open_lanes(request) == {0, 1, 2}
    arrival = connection.arrive(part(request, [1], more=True))
    assert arrival is not None
    assert not arrival.is_last
    assert connection.session.open_lanes(request) == {0, 2}
    arrival = connection.arrive(part(request, [0], failures=[late(2)]))
    assert arrival is not None
    assert arrival.is_last
    ((lane, error, lost),) = arrival.failures
    assert (lane, type(error), lost) == (2, StepTimeout, False)
    assert connection.session.open_lanes(request) == frozenset()
    assert connection.session.lanes == {0, 1, 2}


def test_a_lost_lane_takes_no_more_requests() -> None:
    connection = Connection(lanes=2)
    connection.arrive(part(connection.step([0, 1]), [0], failures=[late(1, lost=True)]))
    assert connection.session.lanes == {0}
    with pytest.raises(SessionLost):
        connection.step([0, 1])
    connection.step([0])


def test_a_closed_lane_takes_no_more_requests_and_does_not_answer() -> None:
    connection = Connection(lanes=2)
    close = connection.send(frames.Close(id=connection.session.next_id(), lanes=[0]))
    assert connection.session.open_lanes(close.id) == frozenset()
    with pytest.raises(SessionLost):
        connection.step([0])
    arrival = connection.arrive(frames.Done(id=close.id))
    assert arrival is not None
    assert arrival.is_last


def test_a_lane_may_be_closed_twice() -> None:
    connection = Connection(lanes=1)
    for _ in range(2):
        connection.send(frames.Close(id=connection.session.next_id(), lanes=[0]))
    assert connection.session.lanes == set()


def test_a_lane_that_was_never_opened_takes_no_request() -> None:
    with pytest.raises(SessionLost):
        Connection(lanes=2).step([2])


@pytest.mark.parametrize(
    "request_",
    [
        frames.State(id=2, lanes=[0, 1]),
        frames.Render(id=2, lanes=[0, 1]),
        frames.Call(id=2, lanes=[0, 1], name="f"),
        frames.Get(id=2, lanes=[0, 1], name="f"),
        frames.Set(id=2, lanes=[0, 1], name="f", values=[1, 2]),
    ],
    ids=lambda request: type(request).__name__,
)
def test_values_answer_for_all_lanes_at_once(request_: frames.Request) -> None:
    connection = Connection(lanes=2)
    connection.session.next_id()
    connection.send(request_)
    arrival = connection.arrive(frames.Values(id=2, lanes=[1], values=["x"], failures=[late(0)]))
    assert arrival is not None
    assert arrival.is_last
    assert [failure.lane for failure in arrival.failures] == [0]


def test_a_refused_request_fails_for_all_its_lanes_and_loses_none() -> None:
    connection = Connection(lanes=2)
    request = connection.step([1, 0])
    failure = failure_of(InvalidAction("no such action"))
    arrival = connection.arrive(frames.Refused(id=request, failure=failure))
    assert arrival is not None
    assert arrival.reply is None
    assert isinstance(arrival.error, InvalidAction)
    assert [(lane, lost) for lane, _, lost in arrival.failures] == [(1, False), (0, False)]
    assert connection.session.lanes == {0, 1}


def test_a_refused_open_says_why() -> None:
    connection = Connection()
    request = connection.send(frames.Open(id=connection.session.next_id(), lanes=20))
    failure = failure_of(CapacityReached("full", max_sessions=9))
    arrival = connection.arrive(frames.Refused(id=request.id, failure=failure))
    assert arrival is not None
    assert isinstance(arrival.error, CapacityReached)
    assert arrival.error.max_sessions == 9
    assert arrival.failures == ()


def test_a_request_that_cannot_be_sent_opens_nothing() -> None:
    connection = Connection(lanes=1, max_frame_bytes=150)
    session = connection.session
    with pytest.raises(InvalidAction):
        session.issue(frames.Step(id=session.next_id(), lanes=[0], actions=Batch(values=[2**70])))
    with pytest.raises(FrameTooLarge):
        session.issue(frames.Step(id=session.next_id(), lanes=[0], actions=Batch(columns=[bytes(150)])))
    assert session.connection_lost(ConnectionLost("gone")) == []


def broken(connection: Connection, reply: frames.Reply | bytes) -> None:
    """Lets a server break a rule and checks what becomes of the session."""
    open_before = {request: connection.session.open_lanes(request) for request in range(20)}
    with pytest.raises(ProtocolFailure) as raised:
        connection.session.receive(reply if isinstance(reply, bytes) else codec.encode(reply))
    assert connection.session.state is VectorState.LOST
    assert connection.session.lanes == set()
    ended = connection.session.connection_lost(ConnectionLost("closed by us"))
    assert all(arrival.error is raised.value for arrival in ended)
    failed = {arrival.request.id: {failure.lane for failure in arrival.failures} for arrival in ended}
    assert all(failed.get(request, set()) == lanes for request, lanes in open_before.items())


@pytest.mark.parametrize(
    "reply",
    [
        part(2, [0, 1, 7]),
        part(2, [0]),
        part(2, [], failures=[late(0)]),
        part(2, [0, 1], failures=[late(7)]),
        part(99, [0, 1]),
        part(0, [0, 1]),
        frames.Values(id=2, lanes=[0, 1], values=[1, 2]),
        frames.Done(id=2),
        frames.Opened(id=2, lanes=[0, 1]),
        frames.Welcome(id=2, server="", max_frame_bytes=1, max_lanes=1, max_depth=1, dtypes=[]),
        frames.Refused(id=-1, failure=failure_of(ProtocolFailure("not msgpack"))),
        frames.Refused(id=50, failure=failure_of(ProtocolFailure("?"))),
        b"\xc1",
    ],
    ids=[
        *("a lane that was not asked", "a lane that is missing", "a failure and a lane that is missing"),
        *("a failure of another lane", "an id that was never issued", "an id that was answered"),
        *("values for rows", "done for rows", "opened for rows", "welcome for rows"),
        *("a frame that it could not read", "refusing what was not asked", "no msgpack"),
    ],
)
def test_a_server_that_breaks_a_rule_is_not_believed(reply: frames.Reply | bytes) -> None:
    connection = Connection(lanes=2)
    assert connection.step([0, 1]) == 2
    broken(connection, reply)


def test_a_lane_that_answers_twice_breaks_a_rule() -> None:
    connection = Connection(lanes=2)
    request = connection.step([0, 1])
    connection.arrive(part(request, [0], more=True))
    broken(connection, part(request, [0], more=True))


@pytest.mark.parametrize("lanes", [[0], [2, 3, 4], [1, 2]], ids=["too few", "too many", "a number that was used"])
def test_lanes_that_were_not_asked_for_break_a_rule(lanes: list[int]) -> None:
    connection = Connection(lanes=2)
    request = connection.send(frames.Open(id=connection.session.next_id(), lanes=2))
    broken(connection, frames.Opened(id=request.id, lanes=lanes))


def test_the_number_of_a_lost_lane_is_never_given_again() -> None:
    connection = Connection(lanes=2)
    connection.arrive(part(connection.step([0, 1]), [0], failures=[late(1, lost=True)]))
    request = connection.send(frames.Open(id=connection.session.next_id(), lanes=1))
    broken(connection, frames.Opened(id=request.id, lanes=[1]))


def test_a_request_that_was_given_up_reaches_nobody() -> None:
    connection = Connection(lanes=3)
    request = connection.step([0, 1, 2])
    connection.arrive(part(request, [0], more=True))
    frame = connection.session.give_up(request)
    assert frame is not None
    cancel = codec.decode_request(frame)
    assert isinstance(cancel, frames.Cancel)
    assert cancel.request == request
    assert connection.session.open_lanes(request) == frozenset()
    assert connection.arrive(part(request, [1], more=True)) is None
    assert connection.arrive(part(request, [], failures=[late(2, lost=True)])) is None
    assert connection.session.lanes == {0, 1}
    assert connection.arrive(frames.Done(id=cancel.id)) is None
    broken(connection, part(request, [1]))


@pytest.mark.parametrize("is_refused", [False, True])
def test_giving_up_what_is_answered_meanwhile_costs_nothing(is_refused: bool) -> None:
    connection = Connection(lanes=1)
    request = connection.step([0])
    frame = connection.session.give_up(request)
    assert frame is not None
    refused = frames.Refused(id=request, failure=failure_of(InvalidAction("x")))
    assert connection.arrive(refused if is_refused else part(request, [0])) is None
    cancel = codec.decode_request(frame).id
    assert connection.arrive(frames.Done(id=cancel)) is None
    assert connection.session.lanes == {0}
    connection.step([0])


def test_a_cancel_that_is_refused_ends_there() -> None:
    connection = Connection(lanes=1)
    request = connection.step([0])
    frame = connection.session.give_up(request)
    assert frame is not None
    refusal = frames.Refused(id=codec.decode_request(frame).id, failure=failure_of(ProtocolFailure("x")))
    assert connection.arrive(refusal) is None
    assert connection.arrive(part(request, [0])) is None


def test_a_request_is_given_up_once() -> None:
    connection = Connection(lanes=1)
    request = connection.step([0])
    assert connection.session.give_up(request) is not None
    assert connection.session.give_up(request) is None
    assert connection.session.give_up(77) is None
    answered = connection.step([0])
    connection.arrive(part(answered, [0]))
    assert connection.session.give_up(answered) is None


def test_lanes_that_open_too_late_are_closed() -> None:
    connection = Connection(lanes=1)
    session = connection.session
    request = connection.send(frames.Open(id=session.next_id(), lanes=2))
    assert session.give_up(request.id) is not None
    assert session.frames_to_send() == []
    assert connection.arrive(frames.Opened(id=request.id, lanes=[1, 2])) is None
    assert session.lanes == {0}
    (frame,) = session.frames_to_send()
    close = codec.decode_request(frame)
    assert isinstance(close, frames.Close)
    assert close.lanes == [1, 2]
    assert session.frames_to_send() == []
    assert connection.arrive(frames.Done(id=close.id)) is None


def test_a_lost_connection_ends_every_request_that_somebody_waits_for() -> None:
    connection = Connection(lanes=3)
    session = connection.session
    first, given_up, second = connection.step([0, 1]), connection.step([2]), connection.step([1])
    opening = connection.send(frames.Open(id=session.next_id(), lanes=1)).id
    connection.arrive(part(first, [0], more=True))
    session.give_up(given_up)
    error = ConnectionLost("gone", close_code=1006)
    ended = session.connection_lost(error)
    assert [arrival.request.id for arrival in ended] == [first, second, opening]
    assert [arrival.failures for arrival in ended] == [((1, error, True),), ((1, error, True),), ()]
    assert all(arrival.error is error and arrival.is_last and arrival.reply is None for arrival in ended)
    assert (session.state, session.lanes) == (VectorState.LOST, set())
    assert session.connection_lost(error) == []


def test_nothing_happens_on_a_lost_connection() -> None:
    connection = Connection(lanes=1)
    request = connection.step([0])
    connection.session.connection_lost(ConnectionLost("gone"))
    assert connection.arrive(part(request, [0])) is None
    assert connection.session.give_up(request) is None
    with pytest.raises(SessionLost) as raised:
        connection.step([0])
    assert isinstance(raised.value.__cause__, errors.ConnectionLost)


def test_the_lanes_of_a_request() -> None:
    assert lanes_of(frames.Open(id=1, lanes=3)) == []
    assert lanes_of(frames.Cancel(id=1, request=0)) == []
    assert lanes_of(frames.Hello(id=1, client="", max_frame_bytes=1)) == []
    assert lanes_of(frames.State(id=1, lanes=[4, 2])) == [4, 2]


def test_an_unexpected_reply_is_a_failure_of_the_protocol() -> None:
    connection = Connection(lanes=1)
    with pytest.raises(UnexpectedReply):
        connection.arrive(frames.Done(id=connection.step([0])))
