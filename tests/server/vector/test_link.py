"""A link outlives its connection: what was asked is done once, and nobody else gets what it has."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.frames import Batch, Refused, Rows
from openenv_gym_server import create_app
from openenv_gym_server.vector.link import Link
from openenv_gym_server.vector.offer import Offer
from websockets.exceptions import ConnectionClosed

from tests.support.apps.recorded import Numbered, Record, Recorded, Recorder
from tests.support.servers import RunningServer, running_server
from tests.support.vector_client import SECONDS, VectorSocket, server_faults, vector_socket

RECORDED = "tests.support.apps.recorded:app"
LANES = "tests.support.apps.lanes:app"


@contextmanager
def serving(app: str = RECORDED, **environ: Any) -> Iterator[RunningServer]:
    """A server with settings of its own, which does nothing that is a fault of its own."""
    with running_server(app, env={name: str(value) for name, value in environ.items()}) as server:
        yield server
        assert server_faults(server) == []


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with serving() as server:
        yield server


class Client:
    """A client that comes back."""

    def __init__(self, server: RunningServer, stack: ExitStack) -> None:
        self._server = server
        self._stack = stack
        self.socket = self.connect()
        self.link = self.socket.hello(resume=True).link
        self.epoch = 0

    def connect(self) -> VectorSocket:
        """Another connection."""
        return self._stack.enter_context(vector_socket(self._server.ws_url, greet=False))

    def tear(self) -> None:
        """Loses the connection."""
        self.socket.tear()

    def resume(self) -> int:
        """Goes on on another connection, and returns how many frames the server has."""
        self.epoch += 1
        before, self.socket = self.socket, self.connect()
        self.socket._last, self.socket.received = before._last, before.received
        self.socket._kept = before._kept  # what came while something else was waited for
        return self.socket.resume(self.link, self.epoch, before.received)

    def refusal(self, link: str | None = None, epoch: int = 1, ack: int = 0) -> str:
        """Tries to resume on another connection, and returns the kind of failure."""
        asked = self.connect().refusal(frames.Resume, link=self.link if link is None else link, epoch=epoch, ack=ack)
        return asked.kind

    def step(self, lanes: list[int], number: int, seconds: float = 0.0, **keys: Any) -> int:
        """Sends a step of lanes, and returns its id."""
        batch = Batch(values=[{"number": number, "seconds": seconds}] * len(lanes))
        return self.socket.send(frames.Step, lanes=lanes, actions=batch, **keys)

    def executed(self, lane: int) -> list[int]:
        """All steps that the server carried out."""
        values: list[dict[str, Any]] = self.socket.ask(frames.State, lanes=[lane]).values
        return list(values[0]["executed"])


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    with ExitStack() as stack:
        yield Client(server, stack)


def until_logged(server: RunningServer, text: str) -> None:
    """Waits until a server has written something."""
    give_up = time.monotonic() + SECONDS
    while text not in server.log():
        assert time.monotonic() < give_up, server.log()
        time.sleep(0.02)  # no event tells that another process writes: look again


def test_a_step_under_way_goes_on_and_its_answer_is_kept(client: Client) -> None:
    lanes = client.socket.open(2)
    client.socket.reset(lanes, seeds=[5, 5])
    earlier = len(client.executed(lanes[1]))
    step = client.step(lanes[:1], number=101, seconds=0.3)
    client.executed(lanes[1])  # so that the step has come
    client.tear()
    assert client.resume() == 5, "open, reset, step, and the state twice"
    (rows,) = client.socket.parts(step)
    assert rows.lanes == lanes[:1]
    assert rows.observations is not None
    assert rows.observations.values is not None
    assert rows.observations.values[0]["number"] == 101
    assert client.executed(lanes[1])[earlier:] == [101]


def test_what_was_acknowledged_is_not_sent_again_and_the_rest_is(client: Client) -> None:
    lanes = client.socket.open(1)
    client.socket.reset(lanes, seeds=[14])
    asked = [client.step(lanes, number=number, ack=client.socket.received) for number in (1, 2, 3)]
    for request in asked:
        client.socket.parts(request)
    client.socket.received -= 2  # as if the last two had not come
    client.tear()
    client.resume()
    assert [client.socket.parts(request)[0].lanes for request in asked[1:]] == [lanes, lanes]
    assert client.refusal(epoch=9, ack=0) == "ProtocolFailure", "it is kept no longer"


def test_only_who_knows_the_secret_resumes(client: Client, server: RunningServer) -> None:
    client.socket.open(1)
    with ExitStack() as stack:
        other = Client(server, stack)
        name, secret = client.link.split(".")
        others_name, others_secret = other.link.split(".")
        wrong = ["", ".", name, f"{name}.", f"{name}.{others_secret}", f"{others_name}.{secret}", f".{secret}", "é.ü"]
        assert {client.refusal(link) for link in wrong} == {"SessionLost"}
        assert len({client.link, other.link}) == 2
        assert len(secret) >= 40
    client.tear()
    assert client.resume() == 1


def test_a_link_reaches_no_lanes_but_its_own(client: Client, server: RunningServer) -> None:
    client.socket.open(1)
    with ExitStack() as stack:
        other = Client(server, stack)
        other.socket.open(3)
        client.tear()
        client.resume()
        assert client.socket.refusal(frames.Reset, lanes=[2]).kind == "InvalidMessage"
        assert client.socket.refusal(frames.Close, lanes=[2]).kind == "InvalidMessage"


def test_a_link_that_is_resumed_elsewhere_is_fenced_off(client: Client) -> None:
    lanes = client.socket.open(1)
    client.socket.reset(lanes, seeds=[14])
    before = client.socket
    assert client.resume() == 2
    with suppress(ConnectionClosed):
        batch = Batch(values=[{"number": 666}])
        before.send(frames.Step, lanes=lanes, actions=batch)
    assert before.close_code() == 1000
    assert client.socket.step(lanes, [{"number": 7}]).values[0]["number"] == 7
    assert 666 not in client.executed(lanes[0])
    assert client.refusal(epoch=1) == "ProtocolFailure", "a request that was on its way for long takes nothing over"
    assert client.socket.step(lanes, [{"number": 8}]).values[0]["count"] == 2


def test_a_frame_that_was_cut_off_is_asked_for_again(client: Client) -> None:
    lanes = client.socket.open(1)
    client.socket.reset(lanes, seeds=[14])
    # The head of a frame of 100 bytes, and the first of them.
    client.socket.connection.socket.sendall(b"\x82\xe4\0\0\0\0" + b"\x83\xa2op")
    client.tear()
    assert client.resume() == 2, "open and reset came whole"


def test_a_deadline_passes_while_nobody_is_connected(client: Client, server: RunningServer) -> None:
    lanes = client.socket.open(2)
    client.socket.reset(lanes, seeds=[5, 5])
    step = client.step(lanes[:1], number=900, seconds=5.0, deadline=2.0)
    client.executed(lanes[1])
    client.tear()
    until_logged(server, "hangs in")
    client.resume()
    (rows,) = client.socket.parts(step)
    assert [(failure.kind, failure.lost, failure.lane) for failure in rows.failures] == [("StepTimeout", True, 0)]
    assert client.socket.step(lanes[1:], [{"number": 901}]).values[1]["count"] == 1


def test_lanes_that_linger_take_their_slots_until_they_are_resumed_or_closed() -> None:
    with serving(MAX_CONCURRENT_ENVS=2, OPENENV_GYM_CAPACITY_WAIT=0.1) as server, ExitStack() as stack:
        client, other = Client(server, stack), Client(server, stack)
        lanes = client.socket.open(2)
        client.tear()
        assert other.socket.refusal(frames.Open, lanes=1).kind == "CapacityReached"
        client.resume()
        client.socket.ask(frames.Close, lanes=lanes)
        assert other.socket.open(1) == [0]


def test_nobody_who_comes_too_late_finds_anything() -> None:
    with serving(MAX_CONCURRENT_ENVS=1, OPENENV_GYM_LINGER=0.3) as server, ExitStack() as stack:
        client, other = Client(server, stack), Client(server, stack)
        client.socket.open(1)
        client.tear()
        assert other.socket.open(1) == [0], "the slot becomes free within the capacity's wait"
        assert client.refusal() == "SessionLost"


def test_a_client_that_says_goodbye_leaves_nothing_behind() -> None:
    with serving(MAX_CONCURRENT_ENVS=1) as server, ExitStack() as stack:
        client, other = Client(server, stack), Client(server, stack)
        client.socket.open(1)
        client.socket.connection.close()
        assert other.socket.open(1) == [0]
        assert client.refusal() == "SessionLost"


def test_where_nothing_lingers_or_nobody_asked_for_it_there_is_no_secret(server: RunningServer) -> None:
    with vector_socket(server.ws_url, greet=False) as socket:
        welcome = socket.hello()
        assert (welcome.link, welcome.linger) == ("", 0.0)
    with vector_socket(server.ws_url, greet=False) as socket:
        assert socket.hello(resume=True).linger == 30.0
    with serving(OPENENV_GYM_LINGER=0) as never, vector_socket(never.ws_url, greet=False) as socket:
        welcome = socket.hello(resume=True)
        assert (welcome.link, welcome.linger) == ("", 0.0)


def test_answers_are_kept_up_to_a_bound_and_never_guessed() -> None:
    with serving(LANES, OPENENV_GYM_MAX_FRAME_BYTES=100_000) as server, ExitStack() as stack:
        attached, away, careful = Client(server, stack), Client(server, stack), Client(server, stack)
        for client in (attached, away, careful):
            lanes = client.socket.open(1)
            client.socket.reset(lanes)
            client.socket.ask(frames.Set, lanes=lanes, name="label", values=["x" * 50_000])
        for _ in range(6):
            attached.socket.ask(frames.Get, lanes=[0], name="label")
            careful.socket.ask(frames.Get, lanes=[0], name="label", ack=careful.socket.received)
        attached.tear()
        careful.tear()
        assert attached.refusal() == "SessionLost"
        assert careful.resume() == 9
        away.socket.send(frames.Step, lanes=[0], actions=Batch(values=[{"do": "sleep", "seconds": 3.0}]))
        for _ in range(6):
            last = away.socket.send(frames.Get, lanes=[0], name="label")
        away.socket.ask(frames.Cancel, request=last + 100)  # so that all of it has come
        away.tear()
        until_logged(server, "More answers were kept for them")
        assert away.refusal() == "SessionLost"


def test_a_connection_resumes_once_and_greets_once(client: Client, server: RunningServer) -> None:
    client.socket.open(1)
    with ExitStack() as stack:
        other = Client(server, stack)
        assert client.socket.refusal(frames.Resume, link=other.link, epoch=1).kind == "ProtocolFailure"
        client.tear()
        client.resume()
        assert client.socket.refusal(frames.Hello, client="again", max_frame_bytes=1000).kind == "ProtocolFailure"


def test_a_client_cannot_have_received_what_was_not_sent(client: Client) -> None:
    lanes = client.socket.open(1)
    reply = client.socket.ask(frames.State, lanes=lanes, ack=50)
    assert isinstance(reply, Refused)
    assert reply.failure.kind == "ProtocolFailure"
    assert client.refusal(ack=51) == "ProtocolFailure"


def test_opening_goes_on_while_nobody_is_connected(client: Client) -> None:
    client.socket.open(1)
    request = client.socket.send(frames.Open, lanes=2)
    client.executed(0)
    client.tear()
    client.resume()
    opened = client.socket.receive(request)
    assert isinstance(opened, frames.Opened)
    assert isinstance(client.socket.parts(client.socket.send(frames.Reset, lanes=opened.lanes))[0], Rows)


class Taking:
    """A connection that notes what its link is when it has it back."""

    def __init__(self) -> None:
        self.link: Link | None = None
        self.were_ended: list[bool] = []

    def put(self, frame: bytes) -> None: ...
    def fence(self) -> None: ...

    def lend(self, when_ended: Callable[[], None]) -> None:
        return None

    def take_back(self) -> None:
        assert self.link is not None
        self.were_ended.append(self.link.is_ended)


def test_a_link_that_ends_has_its_connection_back_first() -> None:
    service = create_app(Recorder, Numbered, Recorded, state_cls=Record).state.openenv_gym

    async def play() -> None:
        carrier = Taking()
        carrier.link = Link(service, Offer(service), 2**20, carrier, None)
        await carrier.link.end()
        assert carrier.were_ended == [False]

    asyncio.run(play())
