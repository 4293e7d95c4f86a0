"""A lane hears its own connection and no earlier one, and keeps what a server said before it closed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.messages import ObservationReply, ResetRequest, StepRequest

from openenv_gym.bridge.lanes.lane import Lane
from openenv_gym.bridge.servers.server import Server
from openenv_gym.transports.base import ConnectionOptions, Listener

SERVER = Server("http://127.0.0.1:9", ConnectionOptions())
OBSERVATION = '{"type":"observation","data":{"observation":{},"reward":null,"done":false}}'
FULL = '{"type":"error","data":{"message":"full","code":"CAPACITY_REACHED","active_sessions":1,"max_sessions":1}}'


class RecordingConnection:
    """Keeps what is written to it."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.subprotocol: str | None = None
        self.sent: list[str | bytes] = []
        self.is_open = True
        self.was_aborted = False

    def send(self, frame: str | bytes) -> None:
        if not self.is_open:
            raise errors.ConnectionLost("closed")
        self.sent.append(frame)

    async def close(self) -> None:
        self.is_open = False

    def dismiss(self) -> None:
        self.is_open = False

    def abort(self) -> None:
        self.is_open, self.was_aborted = False, True


class Connections:
    """Opens recording connections; the server may speak, or hang up, while it does."""

    def __init__(self, *, says: str | None = None, hangs_up: bool = False) -> None:
        self.made: list[RecordingConnection] = []
        self._says = says
        self._hangs_up = hangs_up

    async def __call__(self, url: str, options: ConnectionOptions, listener: Listener) -> RecordingConnection:
        self.made.append(RecordingConnection(listener))
        if self._says is not None:
            listener.frame_received(self._says)
        if self._hangs_up:
            listener.connection_lost(errors.ConnectionLost("hung up", close_code=1013))
        return self.made[-1]


class Waiting:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.outcomes: list[Any] = []

    def settle(self, position: int, outcome: Any) -> None:
        self.outcomes.append(outcome)


def connected(connections: Connections) -> Lane:
    lane = Lane(0)
    asyncio.run(lane.connect(SERVER, connections))
    return lane


def test_a_reply_goes_to_the_batch_that_asked() -> None:
    connections, batch = Connections(), Waiting()
    lane = connected(connections)
    lane.begin(ResetRequest(), batch, 0)
    connections.made[0].listener.frame_received(OBSERVATION)
    assert isinstance(batch.outcomes[0], ObservationReply)
    assert not lane.is_new_session


def test_a_late_frame_of_an_earlier_connection_is_not_heard() -> None:
    connections, first, second = Connections(), Waiting(), Waiting()
    lane = connected(connections)
    lane.begin(ResetRequest(), first, 0)
    lane.abandon(errors.ReplyTimeout("late"))
    assert connections.made[0].was_aborted
    asyncio.run(lane.connect(SERVER, connections))
    lane.begin(ResetRequest(), second, 0)
    connections.made[0].listener.frame_received(OBSERVATION)
    connections.made[0].listener.connection_lost(errors.ConnectionLost("aborted"))
    assert second.outcomes == []
    connections.made[1].listener.frame_received(OBSERVATION)
    assert [type(outcome) for outcome in (*first.outcomes, *second.outcomes)] == [errors.ReplyTimeout, ObservationReply]


def test_a_refusal_during_the_handshake_is_what_the_caller_hears() -> None:
    connections = Connections(says=FULL, hangs_up=True)
    with pytest.raises(errors.CapacityReached) as raised:
        connected(connections)
    assert raised.value.max_sessions == 1
    assert connections.made[0].was_aborted


def test_a_server_that_hangs_up_during_the_handshake_is_a_lost_connection() -> None:
    with pytest.raises(errors.ConnectionLost):
        connected(Connections(hangs_up=True))


def test_a_connection_that_closed_unnoticed_settles_the_request() -> None:
    connections, batch = Connections(), Waiting()
    lane = connected(connections)
    connections.made[0].is_open = False
    lane.begin(StepRequest(data={}), batch, 0)
    assert [type(outcome) for outcome in batch.outcomes] == [errors.ConnectionLost]
    assert lane.needs_connection


def test_a_frame_that_answers_nothing_ends_the_session() -> None:
    connections, batch = Connections(), Waiting()
    lane = connected(connections)
    connections.made[0].listener.frame_received(OBSERVATION)
    lane.begin(StepRequest(data={}), batch, 0)
    assert [type(outcome) for outcome in batch.outcomes] == [errors.SessionLost]
    assert connections.made[0].was_aborted


@pytest.mark.parametrize("frame", ["{", "[]", b"\x00", '{"type":"state","data":{}}', '{"type":"observation"}'])
def test_a_reply_that_breaks_the_wires_rules_is_an_error_of_the_protocol(frame: str | bytes) -> None:
    connections, batch = Connections(), Waiting()
    lane = connected(connections)
    lane.begin(StepRequest(data={}), batch, 0)
    connections.made[0].listener.frame_received(frame)
    assert isinstance(batch.outcomes[0], errors.ProtocolFailure)
    assert lane.needs_connection


def test_closing_says_goodbye_only_where_somebody_listens() -> None:
    connections = Connections()
    ready, waiting = connected(connections), connected(connections)
    waiting.begin(StepRequest(data={}), Waiting(), 0)
    for lane in (ready, waiting, Lane(2)):
        asyncio.run(lane.close())
        asyncio.run(lane.close())
    assert connections.made[0].sent[-1] == '{"type":"close"}'
    assert connections.made[1].was_aborted
