"""Steps that the lanes' thread reads and answers by itself: nobody can tell but by how soon they are answered."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.frames import UNREADABLE, Batch, Done, Refused
from openenv_gym_server.vector.asking import LanesRequest
from websockets.frames import Frame, Opcode

from tests.support.apps.lent import BIG, BIG_BYTES, HANG, RAISE, SLEEP
from tests.support.lent_lanes import FOREVER, PATIENT, Client, connected, serving
from tests.support.servers import RunningServer
from tests.support.vector_client import SECONDS, vector_socket


@pytest.fixture(scope="module", params=["each", "many"])
def kind(request: pytest.FixtureRequest) -> str:
    """Lanes with an environment each, or many in one."""
    return str(request.param)


@pytest.fixture(scope="module", params=["lent", "loop"])
def way(request: pytest.FixtureRequest) -> str:
    """How steps reach the lanes' thread."""
    return str(request.param)


@pytest.fixture(scope="module")
def server(kind: str, way: str) -> Iterator[RunningServer]:
    with serving(kind, way, **PATIENT) as server:
        yield server


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    until(lambda: ready(server)["active_sessions"] == 0)  # the client before is gone
    with connected(server) as client:
        yield client


def ready(server: RunningServer) -> dict[str, Any]:
    body: dict[str, Any] = httpx.get(f"{server.base_url}/ready", trust_env=False, timeout=SECONDS).json()
    return body


def until(condition: Callable[[], bool]) -> None:
    """Waits for what a server does by itself, with a bound."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def until_begun(server: RunningServer, action: int) -> None:
    until(lambda: f"step {action} has begun" in server.log())


def release(server: RunningServer) -> None:
    """Lets go what hangs."""
    with vector_socket(server.ws_url) as socket:
        socket.ask(frames.Call, lanes=socket.open(1), name="release")
    until(lambda: ready(server)["hung_sessions"] == 0)


def test_steps_in_lockstep_do_not_pass_through_the_event_loop_where_that_is_allowed(client: Client, way: str) -> None:
    taken = client.taken_of(lambda: client.walk(200))
    assert taken < 100 if way == "lent" else taken == 200


def test_what_is_asked_between_steps_is_answered_and_steps_go_on(client: Client) -> None:
    client.walk()
    assert client.counts() == {3}
    client.walk()
    client.reset()
    client.walk()
    assert isinstance(client.taken(), int)
    client.walk()
    assert client.socket.connection.ping().wait(SECONDS)
    client.walk()
    assert isinstance(client.socket.ask(frames.Cancel, request=client.socket.next_id() - 1), Done)
    assert client.counts() == {9}


def test_what_is_sent_at_once_is_carried_out_and_answered_in_order(client: Client) -> None:
    client.walk()
    kinds: list[tuple[type[LanesRequest], dict[str, Any]]] = [
        (frames.Step, {"actions": client.actions([1])}),
        (frames.State, {}),
        (frames.Step, {"actions": client.actions([2])}),
        (frames.Step, {"actions": client.actions([3])}),
        (frames.Reset, {}),
        (frames.Step, {"actions": client.actions([4])}),
        (frames.State, {}),
    ]
    sent = [client.frame(kind, **keys) for kind, keys in kinds]
    for _, data in sent:
        client.socket.connection.socket.sendall(data)
    ids = [request_id for request_id, _ in sent]
    seen: list[Any] = []
    for request_id in ids:
        reply = codec.decode_reply(client.socket.connection.recv(SECONDS))
        assert reply.id == request_id
        seen.append(reply)
    assert [{state["step_count"] for state in seen[place].values} for place in (1, 6)] == [{4}, {1}]
    client.count = 1
    client.walk()


@pytest.mark.parametrize("count", [2, 5])
def test_requests_of_one_segment_are_all_carried_out(client: Client, count: int) -> None:
    client.walk()
    sent = [client.frame(frames.Step, actions=client.actions([number])) for number in range(count)]
    client.socket.connection.socket.sendall(b"".join(data for _, data in sent))
    for number, (request_id, _) in enumerate(sent):
        client.expect(request_id, number)
    client.walk()


def test_a_request_that_comes_byte_by_byte_is_one(client: Client) -> None:
    client.walk()
    for number in range(3):
        request_id, data = client.frame(frames.Step, actions=client.actions([number]))
        for place in range(len(data)):
            client.socket.connection.socket.sendall(data[place : place + 1])
        client.expect(request_id, number)


def test_a_request_of_which_the_rest_comes_late_is_one(client: Client, server: RunningServer) -> None:
    client.walk()
    request_id, data = client.frame(frames.Step, actions=client.actions([5]))
    client.socket.connection.socket.sendall(data[:-1])
    release(server)  # another connection is served meanwhile, and has the line taken back
    client.socket.connection.socket.sendall(data[-1:])
    client.expect(request_id, 5)
    client.walk()


def test_a_step_that_raises_fails_where_it_does_and_steps_go_on(client: Client, kind: str) -> None:
    client.walk()
    request_id = client.send(1, RAISE, 1)
    failed = client.lanes if kind == "many" else client.lanes[1:2]
    assert client.failures(request_id) == dict.fromkeys(failed, ("environment", False))
    client.socket.reset(client.lanes)
    client.count = 0
    client.walk()


def test_what_cannot_be_asked_is_refused_and_steps_go_on(client: Client) -> None:
    client.walk()
    unknown = client.socket.ask(frames.Step, lanes=[10**6], actions=Batch(columns=[bytes(8)]))
    assert isinstance(unknown, Refused)
    client.walk()
    short = client.socket.ask(frames.Step, lanes=client.lanes, actions=Batch(columns=[bytes(8)]))
    assert isinstance(short, Refused)
    client.walk()
    ahead = client.socket.ask(frames.Step, lanes=client.lanes, actions=Batch(values=[1, 2, 3]))
    assert isinstance(ahead, Refused)
    client.walk()
    client.socket.send_raw(b"\xc1")
    assert isinstance(client.socket.receive(UNREADABLE), Refused)
    client.walk()
    client.socket.send_raw("text")
    assert isinstance(client.socket.receive(UNREADABLE), Refused)
    client.walk()


def test_an_answer_that_no_connection_takes_at_once_arrives_whole(client: Client, server: RunningServer) -> None:
    client.walk()
    big = client.send(1, BIG, 2)
    until_begun(server, BIG)
    after = client.send(3)
    parts = client.socket.parts(big)
    assert sum(len(info["big"]) for part in parts for info in part.infos or () if info) == BIG_BYTES
    client.count += 1
    client.expect(after, 3)
    client.walk()


def test_two_clients_are_both_served_by_the_event_loop(client: Client, server: RunningServer, kind: str) -> None:
    client.walk()
    with connected(server) as other:
        until(lambda: client.taken_of(lambda: client.walk(5)) >= 5)  # whose own thread no longer hears them
        for _ in range(10):
            sent = client.send(1), other.send(2)
            client.expect(sent[0], 1)
            other.expect(sent[1], 2)
        assert other.taken_of(lambda: other.walk(5)) >= 5
    client.walk()


@pytest.mark.parametrize("before", [0, 3])
def test_a_step_that_hangs_is_given_up_at_its_deadline(client: Client, server: RunningServer, before: int) -> None:
    client.walk(before)
    failures = client.failures(client.send(1, 1, HANG, deadline=1.0))
    assert failures[client.lanes[2]][0] == "timeout"
    assert {lane: lost for lane, (_, lost) in failures.items()} == dict.fromkeys(client.lanes, True)  # of one thread
    again = Client(client.socket)
    again.walk()
    release(server)
    again.walk()


@pytest.mark.parametrize("before", [0, 3])
def test_a_step_that_hangs_can_be_cancelled(client: Client, server: RunningServer, before: int) -> None:
    client.walk(before)
    request_id = client.send(1, HANG, 1)
    cancelling = client.socket.send(frames.Cancel, request=request_id)
    failures = client.failures(request_id)
    assert failures[client.lanes[1]][0] == "timeout"
    assert failures.keys() == set(client.lanes)
    assert isinstance(client.socket.receive(cancelling), Done)
    Client(client.socket).walk()
    release(server)


def test_closing_lanes_frees_their_slots_and_the_others_go_on(client: Client, server: RunningServer) -> None:
    other = Client(client.socket, 2)
    client.walk()
    other.walk()
    assert isinstance(client.socket.ask(frames.Close, lanes=client.lanes), Done)
    assert ready(server)["active_sessions"] == 2
    other.walk()
    assert {lost for _, lost in client.failures(client.send(1)).values()} == {True}
    other.walk()


def test_a_goodbye_among_steps_is_answered_and_frees_the_slots(client: Client, server: RunningServer) -> None:
    client.walk()
    client.socket.connection.close()
    assert client.socket.connection.close_code == 1000
    until(lambda: ready(server)["active_sessions"] == 0)


@pytest.mark.parametrize("data", [Frame(Opcode.BINARY, b"unmasked").serialize(mask=False), b"\xf2\x80\0\0\0\0"])
def test_a_violation_among_steps_closes_the_connection(client: Client, server: RunningServer, data: bytes) -> None:
    client.walk()
    client.socket.connection.socket.sendall(data)
    assert client.socket.close_code() == 1002
    until(lambda: ready(server)["active_sessions"] == 0)


def test_a_client_that_vanishes_among_steps_frees_its_slots(client: Client, server: RunningServer) -> None:
    client.walk()
    client.send(1)
    client.socket.tear()
    until(lambda: ready(server)["active_sessions"] == 0)


@pytest.fixture(scope="module")
def unhurried(kind: str, way: str) -> Iterator[RunningServer]:
    """A server whose event loop takes no line back because of the time."""
    with serving(kind, way, **FOREVER) as server:
        yield server


@pytest.mark.parametrize("before", [0, 3])
def test_a_deadline_that_is_short_holds(unhurried: RunningServer, before: int) -> None:
    with connected(unhurried) as client:
        client.walk(before)
        failures = client.failures(client.send(1, 1, HANG, deadline=0.1))
        assert failures[client.lanes[2]] == ("timeout", True)
        release(unhurried)


def test_the_servers_own_limit_holds(kind: str, way: str) -> None:
    with serving(kind, way, OPENENV_GYM_STEP_TIMEOUT="0.3", **FOREVER) as server, connected(server) as client:
        client.walk()
        failures = client.failures(client.send(1, 1, HANG))
        assert failures[client.lanes[2]] == ("timeout", True)
        Client(client.socket).walk()


def resumed(stack: ExitStack, server: RunningServer, client: Client, link: str, received: int) -> int:
    """Has a client go on on another connection, and returns how many of its frames the server has."""
    before = client.socket
    client.socket = stack.enter_context(vector_socket(server.ws_url, greet=False, compression=None))
    client.socket._last = before._last
    return client.socket.resume(link, 1, received)


def test_a_client_that_comes_back_in_the_middle_of_a_step_is_answered_once(unhurried: RunningServer, way: str) -> None:
    with ExitStack() as stack:
        socket = stack.enter_context(vector_socket(unhurried.ws_url, greet=False, compression=None))
        link = socket.hello(resume=True).link
        client = Client(socket)
        client.walk()
        action = SLEEP + 500 + (way == "lent")
        request_id = client.send(1, 1, action)
        until_begun(unhurried, action)
        sent, received = socket._last - 1, socket.received  # the hello is none of the link's
        socket.tear()
        assert resumed(stack, unhurried, client, link, received) == sent
        client.expect(request_id, 1, 1, action)
        client.walk()
        assert client.counts() == {7}
        assert client.socket._kept[request_id] == []


def test_answers_that_did_not_arrive_are_sent_again(unhurried: RunningServer) -> None:
    with ExitStack() as stack:
        socket = stack.enter_context(vector_socket(unhurried.ws_url, greet=False, compression=None))
        link = socket.hello(resume=True).link
        client = Client(socket)
        client.walk()
        confirmed = socket.received
        answers = []
        for number in (1, 2):
            answers.append(client.send(number, ack=confirmed))
            socket.parts(answers[-1])
        with vector_socket(unhurried.ws_url, greet=False) as other:
            older = other.refusal(frames.Resume, link=link, epoch=1, ack=confirmed - 1)
            assert "kept no longer" in older.message
        assert resumed(stack, unhurried, client, link, confirmed) == socket._last - 1
        for number, request_id in zip((1, 2), answers, strict=True):
            client.expect(request_id, number)
        client.walk()


@pytest.mark.parametrize("before", [0, 3])
def test_a_server_that_ends_gives_the_whole_answer_first(kind: str, way: str, before: int) -> None:
    with serving(kind, way, **FOREVER) as server, vector_socket(server.ws_url, greet=False, compression=None) as socket:
        socket.hello(max_frame_bytes=2048)  # so that an answer takes more frames than one
        client = Client(socket, 100)
        client.walk(before)
        request_id = client.send(SLEEP + 400, 1)
        until_begun(server, SLEEP + 400)
        os.kill(server.pid, signal.SIGTERM)
        client.expect(request_id, SLEEP + 400, 1)
        assert socket.close_code() == 1012


def test_a_server_that_ends_says_so_to_a_client_between_two_steps(kind: str, way: str) -> None:
    with serving(kind, way, **FOREVER) as server, connected(server) as client:
        client.walk()
        os.kill(server.pid, signal.SIGTERM)
        assert client.socket.close_code() == 1012


def test_a_step_is_taken_whose_line_is_taken_back_before_it_begins(kind: str, way: str) -> None:
    environ = {"TEST_CLOSE": "1", "TEST_LENT": "0.01", "OPENENV_GYM_DISCONNECT_GRACE": "0.05"}
    with serving(kind, way, **environ) as server, connected(server) as client:
        other = Client(client.socket, 1)
        assert isinstance(client.socket.ask(frames.Close, lanes=other.lanes), Done)  # the thread is at it still
        client.walk()


def test_no_step_is_lost_or_taken_twice_while_the_line_comes_and_goes(kind: str, way: str) -> None:
    with serving(kind, way, TEST_AWAKE="60", TEST_LENT="0.0005") as server, connected(server) as client:
        client.walk(500)
        requests = [client.send(number) for number in range(50)]
        for number, request_id in enumerate(requests):
            client.expect(request_id, number)
        assert client.counts() == {550}
