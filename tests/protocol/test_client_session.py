"""The rules of a session, without a socket: a reply reaches the request it answers or nobody."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from openenv_gym_protocol import errors
from openenv_gym_protocol.client_session import ClientSession, SessionState
from openenv_gym_protocol.messages import (
    CloseRequest,
    McpRequest,
    ObservationReply,
    Request,
    ResetRequest,
    StateReply,
    StateRequest,
    StepRequest,
)

RESET = ResetRequest(data={"seed": 1})
STEP = StepRequest(data={"move": 1})
STATE = StateRequest()
MCP = McpRequest(data={"jsonrpc": "2.0", "method": "tools/list", "id": 1})

OBSERVATION = '{"type":"observation","data":{"observation":{"n":1},"reward":0.5,"done":false}}'
STATE_FRAME = '{"type":"state","data":{"step_count":1}}'
MCP_FRAME = '{"type":"mcp","data":{"jsonrpc":"2.0","id":1,"result":{}}}'
FULL = '{"type":"error","data":{"message":"full","code":"CAPACITY_REACHED","active_sessions":1,"max_sessions":1}}'
RAISED = '{"type":"error","data":{"message":"boom","code":"EXECUTION_ERROR"}}'
ENDED = '{"type":"error","data":{"message":"the end","code":"SESSION_ERROR"}}'
NOT_BUILT = '{"type":"error","data":{"message":"no","code":"FACTORY_ERROR","factory_name":"E"}}'

ANSWERS = [(RESET, OBSERVATION), (STEP, OBSERVATION), (STATE, STATE_FRAME), (MCP, MCP_FRAME)]


def connected() -> ClientSession:
    """A session with an open connection."""
    session = ClientSession()
    session.connected()
    return session


def test_a_new_session_needs_a_connection_first() -> None:
    session = ClientSession()
    assert (session.state, session.needs_connection) == (SessionState.UNCONNECTED, True)
    session.connected()
    assert (session.state, session.needs_connection) == (SessionState.READY, False)


@pytest.mark.parametrize(("request_", "frame"), ANSWERS)
def test_a_request_is_answered_by_its_own_kind_of_reply(request_: Request, frame: str) -> None:
    session = connected()
    frames = [session.request(request_)]
    states = [session.state]
    session.receive(frame)
    states.append(session.state)
    assert [json.loads(frame)["type"] for frame in frames] == [request_.type]
    assert states == [SessionState.WAITING, SessionState.READY]


def test_an_episode_is_played_on_one_connection() -> None:
    session = connected()
    session.request(RESET)
    first = session.receive(OBSERVATION)
    session.request(STATE)
    second = session.receive(STATE_FRAME)
    assert isinstance(first, ObservationReply)
    assert first.data.reward == 0.5
    assert isinstance(second, StateReply)


@pytest.mark.parametrize(
    ("request_", "frame"),
    [
        (request, frame)
        for request, right in ANSWERS
        for frame in (OBSERVATION, STATE_FRAME, MCP_FRAME)
        if frame != right
    ],
)
def test_a_reply_of_another_kind_loses_the_session_and_is_given_to_nobody(request_: Request, frame: str) -> None:
    session = connected()
    session.request(request_)
    with pytest.raises(errors.UnexpectedReply):
        session.receive(frame)
    assert session.state is SessionState.LOST


@pytest.mark.parametrize("frame", [OBSERVATION, STATE_FRAME, MCP_FRAME])
def test_a_reply_that_nobody_asked_for_loses_the_session(frame: str) -> None:
    session = connected()
    with pytest.raises(errors.UnexpectedReply):
        session.receive(frame)
    assert session.state is SessionState.LOST


@pytest.mark.parametrize("frame", ["{bad", b"\x00", "[]", '{"type":"news"}', '{"type":"observation","data":{}}'])
def test_a_frame_that_breaks_the_rules_loses_the_session(frame: str | bytes) -> None:
    session = connected()
    session.request(STEP)
    with pytest.raises(errors.ProtocolFailure) as caught:
        session.receive(frame)
    assert session.state is SessionState.LOST
    assert _equal(session.cause, caught.value)


def test_a_second_request_is_refused_while_one_is_open() -> None:
    session = connected()
    session.request(STEP)
    with pytest.raises(errors.UnexpectedReply):
        session.request(STATE)
    session.receive(OBSERVATION)
    session.request(STATE)


def test_an_abandoned_request_poisons_the_connection_until_a_reset() -> None:
    session = connected()
    session.request(STEP)
    session.abandon(errors.ReplyTimeout("No reply within 1 s."))
    for request in (STEP, STATE, MCP):
        with pytest.raises(errors.SessionLost) as caught:
            session.request(request)
        assert isinstance(caught.value.__cause__, errors.ReplyTimeout)
    assert session.needs_connection
    session.check(RESET)


def test_a_late_reply_to_an_abandoned_request_reaches_no_later_one() -> None:
    session = connected()
    session.request(STEP)
    session.abandon(errors.ReplyTimeout("No reply within 1 s."))
    with pytest.raises(errors.UnexpectedReply):
        session.receive(OBSERVATION)
    assert session.state is SessionState.LOST


def test_a_reset_on_a_new_connection_brings_a_lost_session_back() -> None:
    session = connected()
    session.abandon(errors.ReplyTimeout("No reply within 1 s."))
    session.connected()
    session.request(RESET)
    session.receive(OBSERVATION)
    assert session.state is SessionState.READY
    assert session.cause is None


def test_an_error_of_the_environment_leaves_the_session_usable() -> None:
    session = connected()
    session.request(STEP)
    with pytest.raises(errors.ExecutionError, match="boom"):
        raise_reply(session, RAISED)
    assert session.state is SessionState.READY
    session.request(STEP)


def raise_reply(session: ClientSession, frame: str) -> None:
    """Receives a frame that must be an error."""
    session.receive(frame)
    pytest.fail("the error frame was taken for a reply")


@pytest.mark.parametrize(
    ("frame", "kind"),
    [(FULL, errors.CapacityReached), (ENDED, errors.SessionError), (NOT_BUILT, errors.FactoryError)],
)
def test_an_error_that_ends_the_session_is_raised_and_remembered(
    frame: str, kind: type[errors.OpenEnvGymError]
) -> None:
    session = connected()
    session.request(RESET)
    with pytest.raises(kind):
        session.receive(frame)
    assert session.state is SessionState.LOST
    assert isinstance(session.cause, kind)


def test_a_refusal_before_our_first_frame_is_what_the_close_after_it_means() -> None:
    session = connected()
    with pytest.raises(errors.CapacityReached) as refused:
        session.receive(FULL)
    told = session.lost(errors.ConnectionLost("The connection was closed.", close_code=1000))
    assert _equal(told, refused.value)
    assert session.needs_connection


def test_an_error_frame_that_nobody_asked_for_loses_the_session() -> None:
    session = connected()
    session.request(STEP)
    session.receive(OBSERVATION)
    with pytest.raises(errors.ExecutionError):
        session.receive(RAISED)
    assert session.state is SessionState.LOST


def test_a_broken_connection_loses_the_session_with_its_own_error() -> None:
    session = connected()
    session.request(STEP)
    broken = errors.ConnectionLost("The connection was closed.", close_code=1012)
    assert _equal(session.lost(broken), broken)
    with pytest.raises(errors.SessionLost) as caught:
        session.request(STEP)
    assert _equal(caught.value.__cause__, broken)


def test_the_first_reason_of_a_loss_is_kept() -> None:
    session = connected()
    session.request(STEP)
    timeout = errors.ReplyTimeout("No reply within 1 s.")
    session.abandon(timeout)
    assert _equal(session.lost(errors.ConnectionLost("closed by us")), timeout)
    assert _equal(session.cause, timeout)


def test_a_reason_of_an_earlier_connection_is_not_told_of_a_later_one() -> None:
    session = connected()
    session.abandon(errors.ReplyTimeout("No reply within 1 s."))
    session.connected()
    broken = errors.ConnectionLost("The connection was closed.")
    assert _equal(session.lost(broken), broken)


def test_a_request_that_cannot_be_written_opens_nothing() -> None:
    session = connected()
    with pytest.raises(errors.InvalidAction):
        session.request(StepRequest(data={"text": "\ud800"}))
    assert session.state is SessionState.READY
    session.request(STEP)


def test_a_close_request_waits_for_no_reply() -> None:
    session = connected()
    assert json.loads(session.request(CloseRequest())) == {"type": "close"}
    assert session.state is SessionState.READY


@pytest.mark.parametrize("request_", [RESET, STEP, STATE, MCP, CloseRequest()])
def test_a_closed_session_takes_no_request(request_: Request) -> None:
    session = connected()
    session.close()
    with pytest.raises(errors.ClientClosed):
        session.request(request_)


def test_a_closed_session_stays_closed_whatever_comes_after() -> None:
    session = connected()
    session.request(STEP)
    session.close()
    with pytest.raises(errors.UnexpectedReply):
        session.receive(OBSERVATION)
    session.lost(errors.ConnectionLost("The connection was closed."))
    session.abandon(errors.ReplyTimeout("No reply within 1 s."))
    assert session.state is SessionState.CLOSED
    assert not session.needs_connection


@given(st.text() | st.binary())
def test_whatever_a_server_sends_is_our_error_and_never_a_crash(frame: str | bytes) -> None:
    session = connected()
    session.request(STEP)
    with pytest.raises(errors.OpenEnvGymError):
        session.receive(frame)


class LateReplies(RuleBasedStateMachine):
    """A server that numbers its replies and answers in order, however late; a client that gives up at random."""

    def __init__(self) -> None:
        super().__init__()
        self.session = ClientSession()
        self.on_the_way: list[int] = []
        self.asked = 0

    @precondition(lambda self: self.session.needs_connection)
    @rule()
    def connect(self) -> None:
        self.on_the_way.clear()
        self.session.connected()

    @precondition(lambda self: self.session.state is SessionState.READY)
    @rule()
    def ask(self) -> None:
        self.asked += 1
        self.session.request(ResetRequest(data={"n": self.asked}))
        self.on_the_way.append(self.asked)

    @precondition(lambda self: self.on_the_way and not self.session.needs_connection)
    @rule()
    def answer(self) -> None:
        number = self.on_the_way.pop(0)
        frame = json.dumps({"type": "observation", "data": {"observation": {"n": number}}})
        reply = self.session.receive(frame)
        assert isinstance(reply, ObservationReply)
        assert reply.data.observation["n"] == self.asked

    @rule()
    def give_up(self) -> None:
        self.session.abandon(errors.ReplyTimeout("No reply."))

    @invariant()
    def at_most_one_reply_is_on_the_way(self) -> None:
        assert self.session.needs_connection or len(self.on_the_way) <= 1


TestLateReplies = LateReplies.TestCase


def test_a_session_keeps_no_frames_of_whoever_met_its_error() -> None:
    session = connected()
    session.request(RESET)
    with pytest.raises(errors.OpenEnvGymError):
        raise session.lost(errors.ConnectionLost("gone"))
    assert session.cause is not None
    assert session.cause.__traceback__ is None


def _equal(one: BaseException | None, other: BaseException) -> bool:
    return type(one) is type(other) and one.args == other.args
