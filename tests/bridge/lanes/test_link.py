"""One connection of the vector wire: every reply finds its lanes, and one that comes too late finds nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.failures import failure_of
from openenv_gym_protocol.vector.frames import SUBPROTOCOL

from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.scripted_server import ScriptedServer, scripted_server
from tests.support.vector_peer import HTTP, Peer, Script, scripted

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

    _, env = serve(script, timeouts={"step": 0.3})
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

    _, env = serve(script, timeouts={"connect": 0.3})
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
