"""Connecting that nobody waits for any more gives way to the next."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from contextlib import closing

import pytest
from openenv_gym_protocol.vector.frames import SUBPROTOCOL

from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.transports.io_thread import io_thread
from tests.support.scripted_server import scripted_server
from tests.support.vector_peer import HTTP, Peer, scripted


def test_the_connecting_of_an_interrupted_caller_is_ended_before_lanes_are_connected_again() -> None:
    asked = threading.Event()

    async def script(peer: Peer) -> None:
        if peer.session.number == 0:
            await peer.receive()
            asked.set()
        else:
            await peer.welcome()
            await peer.rows(await peer.receive(), {0: 1, 1: 2})
        await peer.receive()

    with (
        scripted_server(scripted(script), http=HTTP, subprotocols=[SUBPROTOCOL]) as server,
        closing(RemoteVectorEnv(server.base_url, num_envs=2)) as env,
    ):
        lanes = env._lanes
        found, _ = lanes.servers.start([0, 1])
        connecting = asyncio.run_coroutine_threadsafe(lanes._connecting.connect(lanes._lanes, found), io_thread().loop)
        assert asked.wait(20)
        assert env.reset()[0].ravel().tolist() == [1, 2]
        with pytest.raises(CancelledError):
            connecting.result(20)
        server.wait_until(lambda server: server.ended == 1)
