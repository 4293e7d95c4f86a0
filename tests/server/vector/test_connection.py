from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.frames import Batch, Done, Refused, Values
from openenv_gym_server import create_app
from openenv_gym_server.sockets.over_asgi import AsgiSocket
from openenv_gym_server.vector.connection import VectorConnection
from openenv_gym_server.vector.links import Links
from openenv_gym_server.vector.offer import Offer
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.support.apps.lanes import Answer, Command, LaneEnvironment
from tests.support.servers import RunningServer, running_server
from tests.support.sockets import frame_socket
from tests.support.unread import Unread, Unsent
from tests.support.vector_client import SECONDS, VectorSocket, server_faults, vector_socket

LANES = "tests.support.apps.lanes:app"
COUNTING = "tests.support.apps.counting:app"
FRAME_LIMIT = 1_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    environ = {"OPENENV_GYM_MAX_FRAME_BYTES": str(FRAME_LIMIT), "OPENENV_GYM_MAX_LANES": "8"}
    with running_server(LANES, env=environ) as server:
        yield server
        assert server_faults(server) == []


def test_without_the_offer_the_standard_wire_is_spoken(server: RunningServer) -> None:
    with frame_socket(server.ws_url) as socket:
        assert socket.connection.subprotocol is None
        assert socket.reset(seed=3)["observation"]["seed"] == 3


def test_another_subprotocol_selects_none(server: RunningServer) -> None:
    with connect(server.ws_url, proxy=None, subprotocols=["openenv-gym.vector.v9"]) as connection:  # type: ignore[list-item]
        assert connection.subprotocol is None
        connection.send('{"type": "reset"}')
        assert '"observation"' in str(connection.recv(timeout=SECONDS))


def test_welcome_tells_the_limits_and_what_there_is(server: RunningServer) -> None:
    with vector_socket(server.ws_url, greet=False) as socket:
        welcome = socket.hello()
    assert welcome.max_frame_bytes == FRAME_LIMIT
    assert welcome.max_lanes == 8
    assert welcome.max_depth == codec.MAX_DEPTH
    assert welcome.capabilities == ["render", "call", "get", "set"]
    assert "start" in welcome.schemas["x-reset-options"]


def test_anything_before_hello_is_refused_and_the_connection_goes_on(server: RunningServer) -> None:
    with vector_socket(server.ws_url, greet=False) as socket:
        assert socket.refusal(frames.Open, lanes=1).failure == "protocol"
        socket.hello()
        assert socket.open(1) == [0]


def test_there_is_one_hello(socket: VectorSocket) -> None:
    assert socket.refusal(frames.Hello, client="again", max_frame_bytes=1000).failure == "protocol"


def test_a_client_that_accepts_no_welcome_is_refused(server: RunningServer) -> None:
    with vector_socket(server.ws_url, greet=False) as socket:
        assert socket.refusal(frames.Hello, client="small", max_frame_bytes=10).kind == "FrameTooLarge"


BAD_FRAMES: dict[str, str | bytes] = {
    "text": "hello",
    "empty": b"",
    "no msgpack": b"\xc1\xc1",
    "no map": msgspec.msgpack.encode([1, 2]),
    "unknown op": msgspec.msgpack.encode({"op": "fly", "id": 1_000}),
    "no id": msgspec.msgpack.encode({"op": "state", "lanes": [0]}),
    "negative id": msgspec.msgpack.encode({"op": "state", "id": -5, "lanes": [0]}),
    "lanes twice": msgspec.msgpack.encode({"op": "state", "id": 1_001, "lanes": [0, 0]}),
    "too few seeds": msgspec.msgpack.encode({"op": "reset", "id": 1_002, "lanes": [0], "seeds": []}),
    "two forms": msgspec.msgpack.encode({"op": "step", "id": 1_003, "lanes": [0], "actions": {}}),
    "infinite deadline": msgspec.msgpack.encode({"op": "reset", "id": 1_004, "lanes": [0], "deadline": float("inf")}),
    "negative lane": msgspec.msgpack.encode({"op": "state", "id": 1_005, "lanes": [-1]}),
    "too deep": b"\x83\xa2op\xa4call\xa2id\xcd\x03\xe8\xa6kwargs\x81\xa1x" + b"\x91" * 200 + b"\xc0",
    "bad array": msgspec.msgpack.encode(
        {
            "op": "step",
            "id": 1_006,
            "lanes": [0],
            "actions": {"values": [msgspec.msgpack.Ext(1, msgspec.msgpack.encode(["int8", [9], b"12"]))]},
        }
    ),
    "a reply": msgspec.msgpack.encode({"re": "done", "id": 1_007}),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_a_bad_frame_is_answered_and_the_connection_lives(socket: VectorSocket, name: str) -> None:
    frame = BAD_FRAMES[name]
    lanes = socket.open(1)
    socket.send_raw(frame)
    reply = socket.receive(codec.request_id(frame))
    assert isinstance(reply, Refused)
    assert reply.failure.failure == "protocol"
    assert socket.reset(lanes, seeds=[1]).values[0]["seed"] == 1


def test_an_id_under_way_may_not_be_used_again(socket: VectorSocket) -> None:
    lanes = socket.open(1)
    socket.reset(lanes)
    request = frames.Step(id=500, lanes=lanes, actions=Batch(values=[{"do": "sleep", "seconds": 1.0}]))
    socket.send_raw(codec.encode(request))
    socket.send_raw(codec.encode(request))
    refused = socket.receive(frames.UNREADABLE)
    assert isinstance(refused, Refused)
    assert refused.failure.failure == "protocol"
    assert socket.parts(500)[-1].lanes == lanes


def test_the_id_of_a_cancel_under_way_may_not_be_used_again(socket: VectorSocket) -> None:
    lanes = socket.open(1)
    socket.reset(lanes)
    socket.send(frames.Step, lanes=lanes, actions=Batch(values=[{"do": "sleep", "seconds": 1.0}]))
    closing = socket.send(frames.Close, lanes=lanes)
    for _ in range(2):
        # To give up a close is to wait for it.
        socket.send_raw(codec.encode(frames.Cancel(id=500, request=closing)))
    assert isinstance(socket.receive(frames.UNREADABLE), Refused)
    assert isinstance(socket.receive(closing), Done)
    assert isinstance(socket.receive(500), Done)
    assert isinstance(socket.ask(frames.Cancel, request=closing), Done)


def test_failures_are_no_larger_than_the_client_accepts(server: RunningServer) -> None:
    with vector_socket(server.ws_url, greet=False) as socket:
        socket.hello(4_000)
        lanes = socket.open(8)
        socket.reset(lanes)
        echoed = Batch(values=[{"number": "x" * 9_000}] * 8)
        asked = [
            socket.send(frames.Step, lanes=lanes, actions=echoed),
            socket.send(frames.Call, lanes=lanes, name="add", args=["x" * 9_000]),
            socket.send(frames.Reset, lanes=lanes, options={"x" * 9_000: 1}),
        ]
        kinds: dict[int, list[str]] = {request: [] for request in asked}
        while asked:
            frame = socket.connection.recv(timeout=SECONDS)
            assert isinstance(frame, bytes)
            assert len(frame) <= 4_000
            reply = codec.decode_reply(frame)
            told = [reply.failure] if isinstance(reply, Refused) else reply.failures  # type: ignore[union-attr]
            kinds[reply.id] += [failure.kind for failure in told]
            if not getattr(reply, "more", False):
                asked.remove(reply.id)
        assert list(kinds.values()) == [["InvalidMessage"] * 8, ["ExecutionError"] * 8, ["UnknownOption"]]


def test_lanes_that_were_never_opened_are_refused_as_a_whole(socket: VectorSocket) -> None:
    lanes = socket.open(1)
    assert socket.refusal(frames.Reset, lanes=[*lanes, 77]).failure == "validation"
    assert socket.refusal(frames.Close, lanes=[77]).failure == "validation"


def test_a_frame_beyond_the_limit_closes_the_connection(server: RunningServer) -> None:
    with vector_socket(server.ws_url) as socket:
        socket.send_raw(b"x" * (FRAME_LIMIT + 1))
        assert socket.close_code() == 1009


def test_more_lanes_than_a_connection_may_have_are_refused(socket: VectorSocket) -> None:
    socket.open(6)
    failure = socket.refusal(frames.Open, lanes=3)
    assert failure.kind == "CapacityReached"
    assert failure.details == {"active_sessions": 6, "max_sessions": 8}
    assert socket.open(2) == [6, 7]


def test_numbers_of_closed_lanes_are_never_used_again(socket: VectorSocket) -> None:
    assert socket.open(2) == [0, 1]
    assert isinstance(socket.ask(frames.Close, lanes=[0, 1]), Done)
    assert socket.open(1) == [2]
    assert isinstance(socket.ask(frames.Close, lanes=[0]), Done)


def test_a_frame_that_the_client_would_not_accept_fails_its_lanes_only(server: RunningServer) -> None:
    with vector_socket(server.ws_url, greet=False) as socket:
        socket.hello(max_frame_bytes=20_000)
        lanes = socket.open(3)
        socket.reset(lanes)
        table = socket.step(lanes, [{}, {"do": "big", "number": 30_000}, {}])
        assert {lane: failure.kind for lane, failure in table.failures.items()} == {1: "FrameTooLarge"}
        assert not table.failures[1].lost
        assert [table.values[lane]["count"] for lane in (0, 2)] == [1, 1]
        assert socket.step(lanes, [{}, {}, {}]).values[1]["count"] == 2


def test_rows_beyond_the_client_limit_come_in_several_frames(server: RunningServer) -> None:
    with vector_socket(server.ws_url, greet=False) as socket:
        socket.hello(max_frame_bytes=20_000)
        lanes = socket.open(4)
        socket.reset(lanes)
        table = socket.step(lanes, [{"do": "big", "number": 8_000}] * 4)
        assert not table.failures
        assert len(table.parts) >= 2
        assert all(len(codec.encode(part)) <= 20_000 for part in table.parts)


def test_values_that_the_client_would_not_accept_fail(server: RunningServer) -> None:
    with vector_socket(server.ws_url, greet=False) as socket:
        socket.hello(max_frame_bytes=20_000)
        lanes = socket.open(1)
        socket.ask(frames.Set, lanes=lanes, name="label", values=["x" * 20_000])
        reply = socket.ask(frames.Get, lanes=lanes, name="label")
        assert isinstance(reply, Values)
        assert [failure.kind for failure in reply.failures] == ["FrameTooLarge"]


def test_cancelling_what_is_unknown_is_done(socket: VectorSocket) -> None:
    assert isinstance(socket.ask(frames.Cancel, request=12345), Done)


def test_an_environment_without_numpy_is_served_without_numpy() -> None:
    with running_server(COUNTING) as server, vector_socket(server.ws_url) as socket:
        lanes = socket.open(2)
        array = msgspec.msgpack.Ext(1, msgspec.msgpack.encode(["int8", [2], b"12"]))
        socket.reset(lanes, seeds=[1, 2])
        table = socket.step(lanes, [{"add": 2}, {"add": array}])
        assert table.values[0]["count"] == 2
        assert table.failures[1].kind == "InvalidMessage"
        assert "numpy" not in Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")


def test_production_mode_keeps_the_controls_of_trainers_to_itself() -> None:
    with running_server(LANES, env={"OPENENV_MODE": "production"}) as server, vector_socket(server.ws_url) as socket:
        lanes = socket.open(1)
        assert socket.reset(lanes).failures[0].kind == "UnknownMessageType"
        assert socket.step(lanes, [{}]).failures[0].kind == "UnknownMessageType"
        for kind, keys in ((frames.State, {}), (frames.Call, {"name": "add"}), (frames.Get, {"name": "label"})):
            assert socket.ask(kind, lanes=lanes, **keys).failures[0].kind == "UnknownMessageType"


def test_the_token_is_asked_for_before_the_wire_is_chosen() -> None:
    with running_server(LANES, env={"OPENENV_GYM_TOKEN": "secret"}) as server:
        with pytest.raises(InvalidStatus), vector_socket(server.ws_url):
            pass
        with vector_socket(server.ws_url, additional_headers={"Authorization": "Bearer secret"}) as socket:
            assert socket.open(1) == [0]


def test_a_client_that_sends_and_never_reads_does_not_stop_the_server(server: RunningServer) -> None:
    # Nobody reads the greedy one's goodbye: it waits for its answer in vain.
    with vector_socket(server.ws_url, close_timeout=0.1) as greedy, vector_socket(server.ws_url) as other:
        lanes = greedy.open(1)
        greedy.reset(lanes)
        for _ in range(500):
            greedy.send(frames.State, lanes=lanes)
        assert other.open(1) == [0]
        assert set(other.reset([0]).values) == {0}


def test_a_full_connection_can_be_cancelled_and_its_end_is_noticed() -> None:
    environ = {"OPENENV_GYM_MAX_LANES": "1", "MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_DISCONNECT_GRACE": "0.1"}
    with running_server(LANES, env=environ) as server:
        with vector_socket(server.ws_url) as socket:
            lanes = socket.open(1)
            socket.reset(lanes)
            hung = socket.send(frames.Step, lanes=lanes, actions=Batch(values=[{"do": "hang"}]))
            asked = [socket.send(frames.State, lanes=lanes) for _ in range(70)]
            assert isinstance(socket.ask(frames.Cancel, request=asked[0]), Done)
            refused = socket.receive(asked[-1])
            assert isinstance(refused, Refused)
            assert refused.failure.kind == "CapacityReached"
            assert isinstance(socket.ask(frames.Cancel, request=hung), Done)
            assert socket.parts(hung)[-1].failures[0].failure == "timeout"
            lanes = socket.open(1)
            socket.reset(lanes)
            socket.send(frames.Step, lanes=lanes, actions=Batch(values=[{"do": "hang"}]))
            for _ in range(70):
                socket.send(frames.State, lanes=lanes)
        wait_for_no_session(server)


def wait_for_no_session(server: RunningServer) -> None:
    end = time.monotonic() + SECONDS
    while httpx.get(f"{server.base_url}/ready", trust_env=False, timeout=SECONDS).json()["active_sessions"]:
        assert time.monotonic() < end, "the session was not given back"


def test_requests_under_way_are_bounded_by_their_bytes_too(server: RunningServer) -> None:
    with vector_socket(server.ws_url) as socket:
        lanes = socket.open(1)
        socket.reset(lanes)
        hung = socket.send(frames.Step, lanes=lanes, actions=Batch(values=[{"do": "sleep", "seconds": 4.0}]))
        large = Batch(values=[{"do": "x" * (FRAME_LIMIT - 1000)}])
        asked = [socket.send(frames.Step, lanes=lanes, actions=large) for _ in range(4)]
        kinds = [type(socket.receive(request)) for request in (*asked[3:], *asked[:3], hung)]
        assert kinds[0] is Refused
        assert Refused not in kinds[1:3]
        assert socket.step(lanes, [{}]).values[lanes[0]]["count"] >= 3


class CountedEnvironment(LaneEnvironment):
    steps_taken = 0

    def step(self, action: Command, timeout_s: float | None = None) -> Any:
        answer = super().step(action, timeout_s)
        type(self).steps_taken += 1
        return answer


def test_answers_that_are_not_read_are_bounded_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENENV_GYM_MAX_FRAME_BYTES", str(FRAME_LIMIT))
    monkeypatch.setattr(CountedEnvironment, "steps_taken", 0)
    service = create_app(CountedEnvironment, Command, Answer).state.openenv_gym
    big = Batch(values=[{"do": "big", "number": FRAME_LIMIT // 2}])
    requests: list[frames.Request] = [
        frames.Hello(id=0, client="tests", max_frame_bytes=FRAME_LIMIT),
        frames.Open(id=1, lanes=1),
        frames.Reset(id=2, lanes=[0]),
        *[frames.Step(id=number, lanes=[0], actions=big) for number in range(3, 33)],
    ]

    async def play() -> None:
        socket = Unread(requests, lambda: CountedEnvironment.steps_taken)
        carrying = AsgiSocket(socket.receive, socket.send)
        connection = VectorConnection(service, Offer(service), Links(), carrying)
        async with asyncio.timeout(SECONDS):
            serving = asyncio.create_task(carrying.serve(connection))
            await socket.is_read_no_further()
            assert socket.taken < 15
            socket.may_read.set()
            await serving
            assert socket.taken == len(requests)
        await service.sessions.shutdown(SECONDS)

    asyncio.run(play())


def test_frames_that_came_together_wait_for_room_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENENV_GYM_MAX_LANES", "1")
    service = create_app(CountedEnvironment, Command, Answer).state.openenv_gym
    socket = Unsent()
    connection = VectorConnection(service, Offer(service), Links(), socket)
    requests = [frames.State(id=number, lanes=[0]) for number in range(100)]
    for request in requests:
        connection.receive(codec.encode(request))  # each is refused: there was no hello
    room = len(socket.frames)
    assert (room < 100, socket.is_read, connection.is_busy) == (True, False, True)
    for number in range(100):
        connection.sent(socket.frames[number])
    assert [codec.decode_reply(frame).id for frame in socket.frames] == list(range(100))
    assert (socket.is_read, connection.is_busy) == (True, False)


def test_a_frame_beyond_the_limit_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENENV_GYM_MAX_FRAME_BYTES", str(FRAME_LIMIT))
    service = create_app(CountedEnvironment, Command, Answer).state.openenv_gym
    socket = Unsent()
    connection = VectorConnection(service, Offer(service), Links(), socket)
    connection.receive(bytes(FRAME_LIMIT + 1))
    assert (socket.close_code, socket.frames) == (1009, [])
