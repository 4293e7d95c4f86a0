"""One connection of the vector wire: every reply finds its lanes, and one that comes too late finds nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.failures import failure_of
from openenv_gym_protocol.vector.frames import SUBPROTOCOL
from openenv_gym_protocol.vector.requests import Arrival

from openenv_gym.bridge.lanes.answers import Answer
from openenv_gym.bridge.lanes.link import LinkAsk, VectorLink, _Waiting
from openenv_gym.bridge.servers.server import Server
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.transports.base import ConnectionOptions
from tests.support.scripted_server import ScriptedServer, scripted_server
from tests.support.vector_peer import HTTP, Peer, Script, scripted

pytestmark = pytest.mark.usefixtures("io_by")

Serve = Callable[..., tuple[ScriptedServer, RemoteVectorEnv]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def serve(script: Script, **keywords: Any) -> tuple[ScriptedServer, RemoteVectorEnv]:
            server = stack.enter_context(scripted_server(scripted(script), http=HTTP, subprotocols=[SUBPROTOCOL]))
            env = RemoteVectorEnv(server.base_url, **{"num_envs": 3, **keywords})
            stack.callback(env.close)
            return server, env

        yield serve


def test_parts_in_any_order_stand_in_their_lanes(serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.welcome(first_lane=40)
        await peer.rows(await peer.receive(), {42: 2, 40: 0, 41: 1})
        step = await peer.receive()
        await peer.rows(step, {42: 5}, more=True)
        await peer.rows(step, {40: 3}, more=True)
        await peer.rows(step, {41: 4})
        await peer.receive()

    _, env = serve(script)
    assert env.reset()[0].ravel().tolist() == [0, 1, 2]
    observation, rewards, *_ = env.step([1, 1, 1])
    assert observation.ravel().tolist() == [3, 4, 5]
    assert rewards.tolist() == [30.0, 40.0, 50.0]


def test_a_reply_to_a_request_that_was_given_up_is_dropped(serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.rows(await peer.receive(), {0: 0, 1: 0, 2: 0})
        late = await peer.receive()
        await peer.rows(late, {0: 7, 2: 7}, more=True)
        cancel, close = await peer.receive(), await peer.receive()
        assert isinstance(cancel, frames.Cancel)
        assert isinstance(close, frames.Close)
        assert (cancel.request, close.lanes) == (late.id, [1])
        again = await peer.receive()
        assert isinstance(again, frames.Open)
        await peer.opened(again, first_lane=9)
        await peer.rows(late, {1: 66})
        await peer.send(frames.Done(id=cancel.id))
        await peer.send(frames.Done(id=close.id))
        await peer.rows(await peer.receive(), {0: 1, 9: 2, 2: 3})
        await peer.rows(await peer.receive(), {0: 4, 9: 5, 2: 6})
        await peer.receive()

    _, env = serve(script, timeouts={"step": 2.0})
    env.reset()
    with pytest.raises(errors.ReplyTimeout) as raised:
        env.step([1, 1, 1])
    assert raised.value.lane == 1
    assert env.reset()[0].ravel().tolist() == [1, 2, 3]
    assert env.step([1, 1, 1])[0].ravel().tolist() == [4, 5, 6], "the late 66 belongs to nobody"


@pytest.mark.parametrize("wrong", ["stranger", "twice", "kind", "nonsense", "text", "unasked"])
def test_a_server_that_breaks_the_wires_rules_is_believed_no_more(wrong: str, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.rows(await peer.receive(), {0: 0, 1: 0, 2: 0})
        step = await peer.receive()
        match wrong:
            case "stranger":
                await peer.rows(step, {5: 1}, more=True)
            case "twice":
                await peer.rows(step, {1: 1}, more=True)
                await peer.rows(step, {1: 2}, more=True)
            case "kind":
                await peer.send(frames.Done(id=step.id))
            case "nonsense":
                await peer.session.socket.send(b"\xc1")
            case "text":
                await peer.session.socket.send("{}")
            case "unasked":
                await peer.send(frames.Done(id=99))
        await peer.receive()

    server, env = serve(script)
    env.reset()
    with pytest.raises(errors.ProtocolFailure) as raised:
        env.step([1, 1, 1])
    assert raised.value.lane in (0, 1)
    with pytest.raises(errors.SessionLost):
        env.step([1, 1, 1])
    env.reset()
    assert server.sessions == 2


def test_a_refused_request_fails_each_of_its_lanes_by_itself(serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.rows(await peer.receive(), {0: 0, 1: 0, 2: 0})
        refused = frames.Refused(id=(await peer.receive()).id, failure=failure_of(errors.InvalidMessage("no")))
        await peer.send(refused)
        await peer.rows(await peer.receive(), {0: 1, 1: 1, 2: 1})
        await peer.receive()

    _, env = serve(script, on_failure="truncate", autoreset_mode="Disabled")
    env.reset()
    *_, truncations, infos = env.step([1, 1, 1])
    assert truncations.tolist() == [True] * 3
    assert [f"lane {lane}" in infos["failure_message"][lane] for lane in range(3)] == [True] * 3
    assert env.reset(options={"reset_mask": np.ones(3, np.bool_)})[0].ravel().tolist() == [1, 1, 1]


def test_a_server_that_is_full_says_so(serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        hello = await peer.receive()
        await peer.send(
            frames.Welcome(id=hello.id, server="peer", max_frame_bytes=10**6, max_lanes=1, max_depth=64, dtypes=[])
        )
        full = errors.CapacityReached("full", active_sessions=4, max_sessions=4)
        await peer.send(frames.Refused(id=(await peer.receive()).id, failure=failure_of(full)))
        await peer.receive()

    _, env = serve(script)
    with pytest.raises(errors.CapacityReached) as raised:
        env.reset()
    assert (raised.value.max_sessions, raised.value.lane) == (4, 0)


def test_a_server_that_dies_loses_all_its_lanes_and_a_reset_finds_it_again(serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.rows(await peer.receive(), {0: 1, 1: 1, 2: 1})
        await peer.receive()
        peer.session.die()

    server, env = serve(script)
    env.reset()
    with pytest.raises(errors.ConnectionLost):
        env.step([1, 1, 1])
    assert env.reset()[0].ravel().tolist() == [1, 1, 1]
    assert server.sessions == 2


def test_a_server_that_does_not_greet_is_given_up(serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        while True:
            await peer.receive()

    _, env = serve(script, timeouts={"connect": 2.0})
    with pytest.raises(errors.TimeoutFailure):
        env.reset()


def test_a_row_that_cannot_be_read_fails_its_lane_alone(serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.rows(await peer.receive(), {0: 1, 1: 1, 2: 1})
        await peer.rows(await peer.receive(), {0: 2, 1: 1000, 2: 2})
        await peer.rows(await peer.receive(), {1: 3}, more=True)
        await peer.receive()

    _, env = serve(script, on_failure="truncate", autoreset_mode="Disabled")
    env.reset()
    observation, _, _, truncations, infos = env.step([1, 1, 1])
    assert observation.ravel().tolist() == [2, 1, 2]
    assert truncations.tolist() == [False, True, False]
    assert infos["failure"].tolist() == [None, "validation", None]


def test_a_row_that_ended_without_its_final_observation_is_refused(serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.rows(await peer.receive(), {0: 1})
        step = await peer.receive()
        await peer.send(
            frames.Rows(
                id=step.id,
                lanes=[0],
                observations=frames.Batch(values=[{"value": 1}]),
                rewards=bytes(8),
                flags=bytes([frames.TERMINATED]),
            )
        )
        await peer.receive()

    _, env = serve(script, num_envs=1, autoreset_mode="SameStep")
    env.reset()
    with pytest.raises(errors.UnexpectedReply, match="final"):
        env.step([1])


def test_a_request_that_cannot_be_written_fails_its_lanes_at_once() -> None:
    def make(number: int) -> frames.Request:
        raise OverflowError("no such number")

    answers: list[Answer] = []
    server = Server("http://127.0.0.1:9", ConnectionOptions())
    LinkAsk("source", VectorLink(server), {7: 0, 8: 1}, "step", make).begin(answers.append)
    (answer,) = answers
    assert sorted(answer.errors) == [0, 1]
    for error in answer.errors.values():
        assert isinstance(error, errors.InvalidMessage)
        assert isinstance(error.__cause__, OverflowError)
        assert "step()" in error.message


@pytest.mark.parametrize("how", ["late", "lost", "broken"])
def test_a_lost_lane_tells_why_it_was_lost(how: str, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.welcome()
        await peer.rows(await peer.receive(), {0: 0, 1: 0, 2: 0})
        step = await peer.receive()
        if how == "lost":
            gone = failure_of(errors.StepTimeout("the server's own limit"), 1, lost=True)
            await peer.rows(step, {0: 1, 2: 1}, failures=[gone])
        elif how == "broken":
            await peer.session.socket.send(b"\xc1")
        else:
            await peer.rows(step, {0: 1, 2: 1}, more=True)
        await peer.receive()
        await peer.receive()
        await peer.receive()

    _, env = serve(script, timeouts={"step": 2.0 if how == "late" else 20.0})
    env.reset()
    env.send([1, 1, 1])
    kind = {"late": errors.ReplyTimeout, "lost": errors.StepTimeout, "broken": errors.ProtocolFailure}[how]
    for failed in range(3 if how == "broken" else 1):
        with pytest.raises(kind) as first:
            env.recv(min_lanes=3 - failed)
    if how != "broken":
        env.recv(min_lanes=2)
    env.send([1], [1])
    with pytest.raises(errors.SessionLost) as raised:
        env.recv()
    assert type(raised.value.__cause__) is type(first.value)
    assert str(raised.value.__cause__) in raised.value.message
    assert "reset()" in raised.value.message


BOX = {"type": "Box", "shape": [1], "low": 0, "high": 99, "dtype": "int32"}


@pytest.mark.parametrize(
    "other",
    [
        {"observation_space": {**BOX, "dtype": "float32"}, "observation_columns": True},
        {"observation_space": {**BOX, "high": 9}, "observation_columns": True},
        {"observation_space": BOX},
    ],
)
def test_lanes_of_other_spaces_than_the_links_first_are_refused(other: dict[str, Any], serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.welcome(observation_space=BOX, observation_columns=True)
        await column(peer, await peer.receive(), 1)
        lost = failure_of(errors.StepTimeout("gone"), lane=0, lost=True)
        await peer.rows(await peer.receive(), {}, failures=[lost])
        again = await peer.receive()
        if isinstance(again, frames.Open):
            await peer.opened(again, first_lane=7, **other)
            asked_on.append(await peer.receive())
        await peer.receive()

    async def column(peer: Peer, request: Any, value: int) -> None:
        batch = frames.Batch(columns=[np.array([value], "<i4").tobytes()])
        await peer.send(
            frames.Rows(id=request.id, lanes=request.lanes, observations=batch, rewards=bytes(8), flags=bytes(1))
        )

    asked_on: list[frames.Request] = []
    server, env = serve(script, num_envs=1)
    env.reset()
    with pytest.raises(errors.StepTimeout):
        env.step([1])
    with pytest.raises(errors.UnexpectedReply, match="spaces"):
        env.reset()
    env.reset()
    assert (server.sessions, asked_on) == (2, []), "the link is not used again"


@pytest.mark.parametrize(
    "space",
    [
        {"type": "Box", "shape": [2**40], "low": 0, "high": 1, "dtype": "float32"},
        {"type": "Box", "shape": [2 * 10**7], "low": 0, "high": 1, "dtype": "float64"},
        {"type": "Box", "shape": [2 * 10**8, 0], "low": 0, "high": 1, "dtype": "int8"},
        {"type": "MultiDiscrete", "nvec": [[1, 2], [3]]},
        {"type": "Discrete", "n": [-1]},
        {"type": "Dict", "spaces": [1]},
        {"zzz": 1},
    ],
)
def test_a_space_that_cannot_be_is_the_servers_breach_of_the_wire(space: dict[str, Any], serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.welcome(observation_space=space, observation_columns=True)
        await peer.rows(await peer.receive(), {0: 1})
        await peer.receive()

    _, env = serve(script, num_envs=1)
    with pytest.raises(errors.ProtocolFailure, match="The server states") as raised:
        env.reset()
    assert raised.value.lane is None
    assert raised.value.session is not None


@pytest.mark.parametrize("is_known", [True, False])
def test_lanes_that_are_opened_as_their_caller_goes_away_are_closed(
    is_known: bool, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller is cancelled in the turn of the loop in which the reply comes, just after it or just before."""
    closed = threading.Event()

    async def script(peer: Peer) -> None:
        await peer.welcome(first_lane=4)
        request = await peer.receive()
        if isinstance(request, frames.Close) and request.lanes == [4, 5, 6]:
            closed.set()
        await peer.receive()

    arrived = _Waiting.arrived

    def cancelled(waiting: _Waiting, arrival: Arrival) -> None:
        if not isinstance(arrival.reply, frames.Opened):
            arrived(waiting, arrival)
            return
        if is_known:
            arrived(waiting, arrival)
        for task in asyncio.all_tasks():
            if "Connecting" in repr(task.get_coro()):
                task.cancel()
        if not is_known:
            arrived(waiting, arrival)

    monkeypatch.setattr(_Waiting, "arrived", cancelled)
    _, env = serve(script)
    with pytest.raises(CancelledError):
        env.reset()
    assert closed.wait(20)
