from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, cast

import httpx
import pytest
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.frames import Batch, Done, Opened, Refused
from openenv_gym_protocol.vector.repeating import RowsForm
from openenv_gym_server import Environment, State, create_app
from openenv_gym_server.environment import Execution
from openenv_gym_server.vector import rows_writer
from openenv_gym_server.vector.fleet import Fleet
from openenv_gym_server.vector.offer import Offer

from tests.support.apps.pushes import ApartPushes, Place, Push
from tests.support.servers import RunningServer, running_server
from tests.support.vector_client import Table, VectorSocket, server_faults, vector_socket

LANES = "tests.support.apps.lanes:app"
PATIENCE = 20.0


@pytest.fixture(scope="module", params=["thread", "inline", "async"])
def execution(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(execution: str) -> Iterator[RunningServer]:
    with running_server(LANES, env={"TEST_EXECUTION": execution}) as server:
        yield server
        assert server_faults(server) == []


@pytest.fixture
def lanes(socket: VectorSocket) -> list[int]:
    lanes = socket.open(4)
    socket.reset(lanes)
    return lanes


@pytest.fixture
def small_server(execution: str) -> Iterator[RunningServer]:
    environ = {"TEST_EXECUTION": execution, "MAX_CONCURRENT_ENVS": "4", "OPENENV_GYM_CAPACITY_WAIT": "0.2"}
    with running_server(LANES, env=environ) as server:
        yield server


def ready(server: RunningServer) -> dict[str, Any]:
    body: dict[str, Any] = httpx.get(f"{server.base_url}/ready", trust_env=False, timeout=PATIENCE).json()
    return body


def until(condition: Callable[[], bool]) -> None:
    """Waits for what a server does by itself, with a bound."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def step(socket: VectorSocket, lanes: list[int], *actions: dict[str, Any], **keys: Any) -> int:
    return socket.send(frames.Step, lanes=lanes, actions=Batch(values=list(actions)), **keys)


def release(server: RunningServer) -> None:
    with vector_socket(server.ws_url) as other:
        lanes = other.open(1)
        other.reset(lanes)
        other.step(lanes, [{"do": "release"}])


def hanging(server: RunningServer) -> int:
    with vector_socket(server.ws_url) as other:
        values: list[int] = other.ask(frames.Get, lanes=other.open(1), name="hanging").values
        return values[0]


def test_requests_for_one_lane_are_carried_out_in_order(socket: VectorSocket, lanes: list[int]) -> None:
    requests = [step(socket, lanes, *[{"number": number}] * 4) for number in range(50)]
    for number, request in enumerate(requests):
        table = Table(socket.parts(request))
        assert set(table.rewards.values()) == {float(number)}
        assert {value["count"] for value in table.values.values()} == {number + 1}


def test_what_is_asked_of_a_lane_is_done_before_it_is_closed(socket: VectorSocket, lanes: list[int]) -> None:
    stepping = step(socket, lanes, *[{"do": "sleep", "seconds": 0.1}] * 4)
    closing = socket.send(frames.Close, lanes=lanes)
    assert set(Table(socket.parts(stepping)).values) == set(lanes)
    assert isinstance(socket.receive(closing), Done)
    table = socket.step(lanes, [{}] * 4)
    assert {(failure.kind, failure.lost) for failure in table.failures.values()} == {("SessionLost", True)}


def test_no_lanes_are_answered_with_no_rows(socket: VectorSocket) -> None:
    assert socket.step([], []).parts[0].observations is None


def test_closing_frees_the_slots_before_it_is_answered(small_server: RunningServer) -> None:
    with vector_socket(small_server.ws_url) as socket:
        lanes = socket.open(4)
        assert ready(small_server)["active_sessions"] == 4
        assert isinstance(socket.ask(frames.Close, lanes=lanes), Done)
        assert ready(small_server)["active_sessions"] == 0


def test_all_lanes_are_given_or_none(small_server: RunningServer) -> None:
    with vector_socket(small_server.ws_url) as one, vector_socket(small_server.ws_url) as two:
        held = one.open(3)
        failure = two.refusal(frames.Open, lanes=2)
        assert (failure.failure, failure.kind) == ("capacity", "CapacityReached")
        assert failure.details == {"active_sessions": 3, "max_sessions": 4}
        assert two.open(1) == [0]
        one.ask(frames.Close, lanes=held)
        assert two.open(3) == [1, 2, 3]


def test_more_lanes_than_the_server_ever_has_are_refused_at_once(small_server: RunningServer) -> None:
    with vector_socket(small_server.ws_url) as socket:
        assert socket.refusal(frames.Open, lanes=5).details["max_sessions"] == 4


def test_lanes_that_wait_get_their_slots_when_others_end(execution: str) -> None:
    environ = {"TEST_EXECUTION": execution, "MAX_CONCURRENT_ENVS": "4", "OPENENV_GYM_CAPACITY_WAIT": "20"}
    with running_server(LANES, env=environ) as server, vector_socket(server.ws_url) as waiting:
        with vector_socket(server.ws_url) as other:
            other.open(3)
            request = waiting.send(frames.Open, lanes=4)
            with pytest.raises(TimeoutError):
                waiting.receive(request, 0.1)
        assert isinstance(waiting.receive(request), Opened)


def test_an_open_that_waits_can_be_cancelled(execution: str) -> None:
    environ = {"TEST_EXECUTION": execution, "MAX_CONCURRENT_ENVS": "2", "OPENENV_GYM_CAPACITY_WAIT": "20"}
    with running_server(LANES, env=environ) as server, vector_socket(server.ws_url) as socket:
        socket.open(2)
        waiting = socket.send(frames.Open, lanes=1)
        cancelling = socket.send(frames.Cancel, request=waiting)
        refused = socket.receive(waiting)
        assert isinstance(refused, Refused)
        assert refused.failure.failure == "timeout"
        assert isinstance(socket.receive(cancelling), Done)


def test_an_environment_that_cannot_be_made_refuses_the_lanes_and_keeps_no_slot(execution: str) -> None:
    environ = {"TEST_EXECUTION": execution, "TEST_CONSTRUCTOR": "raise"}
    with running_server(LANES, env=environ) as server, vector_socket(server.ws_url) as socket:
        failure = socket.refusal(frames.Open, lanes=3)
        assert (failure.failure, failure.kind) == ("environment", "FactoryError")
        until(lambda: ready(server)["active_sessions"] == 0)


def test_the_end_of_a_connection_frees_its_lanes(server: RunningServer) -> None:
    with vector_socket(server.ws_url) as socket:
        lanes = socket.open(16)
        socket.reset(lanes)
        assert ready(server)["active_sessions"] >= 16
        step(socket, lanes, *[{"do": "sleep", "seconds": 0.05}] * 16)
    until(lambda: ready(server)["active_sessions"] == 0)


@pytest.mark.parametrize("execution", ["thread", "async"], scope="module")
def test_a_late_lane_costs_nobody_else_anything(server: RunningServer) -> None:
    with vector_socket(server.ws_url) as socket:
        lanes = socket.open(128)
        socket.reset(lanes)
        hanging, others = lanes[5], [lane for lane in lanes if lane != lanes[5]]
        first = step(socket, lanes, *[{"do": "hang"} if lane == hanging else {} for lane in lanes], deadline=600.0)
        seen: set[int] = set()
        while seen != set(others):
            part = socket.receive(first)
            assert isinstance(part, frames.Rows)
            assert part.more
            seen |= set(part.lanes)
        for number in range(2, 5):
            table = socket.step(others, [{}] * 127)
            assert {value["count"] for value in table.values.values()} == {number}
        release(server)
        last = socket.parts(first)[-1]
        assert last.lanes == [hanging]
    until(lambda: ready(server)["active_sessions"] == 0)


def test_inline_lanes_are_answered_in_one_frame_and_hold_up_no_other_connection() -> None:
    with (
        running_server(LANES, env={"TEST_EXECUTION": "inline"}) as server,
        vector_socket(server.ws_url) as socket,
        vector_socket(server.ws_url) as other,
    ):
        lanes, quick = socket.open(8), other.open(2)
        socket.reset(lanes)
        slow = step(socket, lanes, {"do": "hang"}, *[{}] * 7, deadline=600.0)
        until(lambda: hanging(server) == 1)
        other.reset(quick)
        assert set(other.step(quick, [{}, {}]).rewards) == set(quick)
        release(server)
        assert [part.lanes for part in socket.parts(slow)] == [lanes]
        pids = socket.step(lanes, [{"do": "pid"}] * 8)
        assert len({tuple(value["value"]) for value in pids.values.values()}) == 1


def test_a_deadline_fails_the_late_lane_only(server: RunningServer, execution: str) -> None:
    with vector_socket(server.ws_url) as socket:
        lanes = socket.open(4)
        socket.reset(lanes)
        request = step(socket, lanes, {}, {}, {}, {"do": "hang"}, deadline=3.0)
        table = Table(socket.parts(request))
        lost = execution != "async"
        assert table.failures[lanes[3]].failure == "timeout"
        assert table.failures[lanes[3]].lost is lost
        if execution == "inline":
            # What shares a thread with a lane that hangs is lost with it; the connection goes on.
            assert all(table.failures[lane].lost for lane in lanes[:3])
            again = socket.open(4)
            assert not socket.reset(again).failures
        else:
            assert set(table.values) == set(lanes[:3])
            after = socket.step(lanes, [{}] * 4)
            assert [after.values[lane]["count"] for lane in lanes[:3]] == [2, 2, 2]
            assert (lanes[3] in after.failures) is lost
        release(server)
    until(lambda: ready(server)["hung_sessions"] == 0 and ready(server)["active_sessions"] == 0)


def test_a_lane_that_was_lost_is_told_why_when_it_is_asked(server: RunningServer, execution: str) -> None:
    with vector_socket(server.ws_url) as socket:
        lost, closed = lanes = socket.open(2)
        socket.reset(lanes)
        assert isinstance(socket.receive(socket.send(frames.Close, lanes=[closed])), Done)
        late = step(socket, [lost], {"do": "stubborn" if execution == "async" else "hang"}, deadline=1.5)
        assert Table(socket.parts(late)).failures[lost].lost
        failures = socket.step(lanes, [{}] * 2).failures
        assert "given up 1.5 s after it came" in failures[lost].message
        assert "it was lost or closed" in failures[closed].message
        release(server)
    until(lambda: ready(server)["hung_sessions"] == 0)


def test_what_has_not_begun_at_its_deadline_is_not_done_and_its_lane_goes_on(
    socket: VectorSocket, lanes: list[int]
) -> None:
    slow = step(socket, lanes, *[{"do": "sleep", "seconds": 1.0}] * 4, deadline=60.0)
    waiting = step(socket, lanes, *[{}] * 4, deadline=0.05)
    table = Table(socket.parts(waiting))
    assert {(failure.failure, failure.lost) for failure in table.failures.values()} == {("timeout", False)}
    assert len(Table(socket.parts(slow)).values) == 4
    assert {value["count"] for value in socket.step(lanes, [{}] * 4).values.values()} == {2}


def test_a_deadline_longer_than_the_server_limit_holds(execution: str) -> None:
    environ = {"TEST_EXECUTION": execution, "OPENENV_GYM_STEP_TIMEOUT": "1"}
    with running_server(LANES, env=environ) as server, vector_socket(server.ws_url) as socket:
        lanes = socket.open(1)
        socket.reset(lanes)
        kept = Table(socket.parts(step(socket, lanes, {"do": "sleep", "seconds": 2.0}, deadline=60.0)))
        assert kept.values[0]["text"] == "sleep"
        lost = Table(socket.parts(step(socket, lanes, {"do": "sleep", "seconds": 5.0})))
        assert (lost.failures[0].kind, lost.failures[0].lost) == ("StepTimeout", True)


def test_the_environment_learns_what_the_client_allows(socket: VectorSocket, lanes: list[int]) -> None:
    table = socket.step(lanes[:1], [{"do": "timeout"}], deadline=50.0)
    assert 0 < table.values[lanes[0]]["value"] <= 50.0
    assert socket.step(lanes[:1], [{"do": "timeout"}]).values[lanes[0]]["value"] is None


def test_a_cancelled_request_is_answered_and_then_its_cancel(server: RunningServer, execution: str) -> None:
    with vector_socket(server.ws_url) as socket:
        lanes = socket.open(2)
        socket.reset(lanes)
        request = step(socket, lanes, {}, {"do": "hang"}, deadline=600.0)
        if execution != "inline":
            part = socket.receive(request)
            assert isinstance(part, frames.Rows)
            assert part.lanes == lanes[:1]
        else:
            until(lambda: hanging(server) == 1)
        cancelling = socket.send(frames.Cancel, request=request)
        failures = Table(socket.parts(request)).failures
        assert isinstance(socket.receive(cancelling), Done)
        assert failures[lanes[1]].failure == "timeout"
        assert failures[lanes[1]].lost is (execution != "async")
        release(server)
    until(lambda: ready(server)["hung_sessions"] == 0)


def test_an_async_lane_that_ignores_its_cancelling_is_lost() -> None:
    with running_server(LANES, env={"TEST_EXECUTION": "async"}) as server, vector_socket(server.ws_url) as socket:
        lanes = socket.open(2)
        socket.reset(lanes)
        table = Table(socket.parts(step(socket, lanes, {"do": "stubborn"}, {}, deadline=1.5)))
        assert (table.failures[0].failure, table.failures[0].lost) == ("timeout", True)
        assert socket.step(lanes[1:], [{}]).values[1]["count"] == 2
        release(server)
        until(lambda: ready(server)["hung_sessions"] == 0)


def test_the_server_own_limit_loses_the_lane_that_hangs(execution: str) -> None:
    environ = {"TEST_EXECUTION": execution, "OPENENV_GYM_STEP_TIMEOUT": "2"}
    with running_server(LANES, env=environ) as server, vector_socket(server.ws_url) as socket:
        lanes = socket.open(3)
        socket.reset(lanes)
        table = Table(socket.parts(step(socket, lanes, {}, {"do": "hang"}, {})))
        assert (table.failures[1].failure, table.failures[1].lost) == ("timeout", True)
        if execution != "inline":
            assert set(table.values) == {0, 2}
        release(server)
        until(lambda: ready(server)["hung_sessions"] == 0)


def test_lanes_of_one_shared_thread_are_not_lost_to_the_deadline_of_another() -> None:
    environ = {"TEST_EXECUTION": "thread", "TEST_SINGLE_THREAD": "1"}
    with (
        running_server(LANES, env=environ) as server,
        vector_socket(server.ws_url) as one,
        vector_socket(server.ws_url) as two,
    ):
        late, other = one.open(1), two.open(1)
        one.reset(late)
        two.reset(other)
        table = Table(one.parts(step(one, late, {"do": "sleep", "seconds": 4.0}, deadline=1.0)))
        assert (table.failures[0].failure, table.failures[0].lost) == ("timeout", True)
        assert two.step(other, [{}]).values[0]["count"] == 1


def test_many_connections_at_once_keep_their_lanes_apart(server: RunningServer) -> None:
    def play(number: int) -> set[float]:
        with vector_socket(server.ws_url) as socket:
            lanes = socket.open(4)
            socket.reset(lanes)
            tables = [socket.step(lanes, [{"number": number}] * 4) for _ in range(20)]
            return {reward for table in tables for reward in table.rewards.values()}

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(play, range(8))) == [{float(number)} for number in range(8)]


class NoLink:
    """A link that nothing of these lanes reaches."""

    def send(self, frame: bytes) -> None: ...
    def answered(self, request_id: int) -> None: ...
    def note_under_way(self, request_id: int) -> None: ...
    def take_back(self) -> None: ...
    def keep(self, frame: bytes) -> None: ...

    def accept(self, message: bytes, request: frames.Step) -> bool:
        return False

    def lend(self, when_ended: Callable[[], None]) -> None:
        return None


class Quick(Environment[Push, Place, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    execution: ClassVar[Execution | None] = "inline"
    spaces: ClassVar[dict[str, Any] | None] = ApartPushes.spaces

    def reset(self, seed: int | None = None) -> Place:
        return Place(place=0.0)

    def step(self, action: Push) -> Place:
        return Place(place=float(action.push), reward=1.0)

    @property
    def state(self) -> State:
        return State()


def answers(lanes_of_each: Sequence[int], count: int = 2) -> list[frames.Rows]:
    """The answers to steps of so many lanes, as the lanes' thread gives them by itself."""
    service = create_app(Quick, Push, Place, max_concurrent_envs=count).state.openenv_gym

    async def play() -> list[frames.Rows]:
        fleet = Fleet(service, Offer(service), NoLink())
        fleet.client_bytes = 1 << 20
        lanes = await fleet.open(frames.Open(id=1, lanes=count))
        fleet.ask(frames.Reset(id=2, lanes=lanes))
        async with asyncio.timeout(PATIENCE):
            while fleet.has_pending(2):
                await asyncio.sleep(0.001)
        told: list[bytes] = []
        for number, size in enumerate(lanes_of_each):
            step = fleet.thread_step(
                frames.Step(id=number, lanes=lanes[:size], actions=Batch(columns=[bytes(8 * size)]))
            )
            assert step is not None
            told += fleet.answer(number, step, step.carry_out())
        fleet.end()
        await service.sessions.shutdown(PATIENCE)
        return [cast(frames.Rows, codec.decode_reply(each)) for each in told]

    return asyncio.run(play())


def test_forms_of_answers_that_are_never_used_again_are_soon_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[frames.Rows] = []

    class CountedForm(RowsForm):
        def __init__(self, rows: frames.Rows) -> None:
            made.append(rows)
            super().__init__(rows)

    monkeypatch.setattr(rows_writer, "RowsForm", CountedForm)
    told = answers([1, 2] * 100)
    assert [len(rows.lanes) for rows in told] == [1, 2] * 100
    assert len(made) < 20


def test_an_answer_whose_form_fails_is_told_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(form: RowsForm, request_id: int, arrays: Any) -> bytes:
        raise MemoryError

    monkeypatch.setattr(RowsForm, "write", broken)
    told = answers([2, 2, 2])
    assert [(rows.id, len(rows.lanes), rows.failures) for rows in told] == [(number, 2, []) for number in range(3)]
    assert "by a fault of the server" in caplog.text


def test_a_session_is_closed_where_its_lanes_cannot_be_driven(monkeypatch: pytest.MonkeyPatch) -> None:
    service = create_app(ApartPushes, Push, Place).state.openenv_gym
    offer = Offer(service)
    # Its data describes no bounds.
    assert ApartPushes.spaces is not None
    monkeypatch.delitem(ApartPushes.spaces["action"], "n")

    async def play() -> None:
        fleet = Fleet(service, offer, NoLink())
        with pytest.raises(KeyError):
            await fleet.open(frames.Open(id=1, lanes=2))
        async with asyncio.timeout(20.0):
            while service.sessions.capacity.taken:
                await asyncio.sleep(0.001)
        await service.sessions.shutdown(20.0)

    asyncio.run(play())
