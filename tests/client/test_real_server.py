"""The clients against this project's own server, in a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.models import State

from openenv_gym.client import EnvClient, GenericEnvClient
from tests.support.apps.counting import CountAction, CountObservation
from tests.support.moments import happening_after
from tests.support.servers import RunningServer, running_server

PATIENCE = 20.0


class CountingEnv(EnvClient[CountAction, CountObservation, State]):
    pass


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.counting:app") as running:
        yield running


def test_a_typed_client_of_two_lines_plays_an_episode(server: RunningServer) -> None:
    with CountingEnv(server.base_url).sync() as env:
        result = env.reset(seed=np.int64(7), start=10, length=2)
        assert result.observation == CountObservation(count=10, seed=7)
        result = env.step(CountAction(add=5))
        assert (result.observation.count, result.reward, result.done) == (15, 5.0, False)
        assert env.step(CountAction()).done
        assert env.state().step_count == 2


def test_eight_threads_share_a_session_and_lose_no_step(server: RunningServer) -> None:
    with CountingEnv(server.base_url).sync() as env:
        env.reset(length=10_000)
        with ThreadPoolExecutor(8) as pool:
            counts = list(pool.map(lambda _: env.step(CountAction(add=1)).observation.count, range(400)))
    assert sorted(counts) == list(range(1, 401))


@pytest.mark.parametrize("fields", [{"ad": 1}, {"add": "many"}, {"add": None}])
def test_an_action_that_the_server_refuses_says_where(server: RunningServer, fields: dict[str, Any]) -> None:
    with GenericEnvClient(server.base_url).sync() as env:
        env.reset()
        with pytest.raises(errors.InvalidMessage) as caught:
            env.step(fields)
        assert caught.value.errors[0]["loc"] == list(fields)
        assert env.step({"add": 1}).observation["count"] == 1


def test_a_misspelt_option_is_refused_with_the_nearest(server: RunningServer) -> None:
    with CountingEnv(server.base_url).sync() as env, pytest.raises(errors.UnknownOption, match="'length'"):
        env.reset(lenght=3)


def test_an_action_above_the_servers_limit_is_named(server: RunningServer) -> None:
    with GenericEnvClient(server.base_url).sync() as env:
        env.reset()
        with pytest.raises((errors.FrameTooLarge, errors.InvalidMessage)):
            env.step({"add": "x" * (101 * 1024 * 1024)})


def test_a_close_that_is_cancelled_leaves_no_session(server: RunningServer) -> None:
    async def leave() -> None:
        env = CountingEnv(server.base_url)
        await env.reset()
        await (await env.new_session()).reset()
        closing = asyncio.create_task(env.close())
        await asyncio.sleep(0)  # it has begun, and nothing is done yet
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        async with asyncio.timeout(PATIENCE):
            while await active_sessions() > before:
                await asyncio.sleep(0.02)  # the server sees the end of a connection when it does
        assert env  # it is not its finalizer that ended them

    async def active_sessions() -> int:
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
            return int((await client.get(f"{server.base_url}/ready")).json()["active_sessions"])

    before = asyncio.run(active_sessions())
    asyncio.run(leave())


def test_a_token_is_needed_where_the_server_has_one() -> None:
    with running_server("tests.support.apps.counting:app", env={"OPENENV_GYM_TOKEN": "secret"}) as locked:
        for wrong in (None, "guess"):
            with pytest.raises(errors.Unauthorized):
                GenericEnvClient(locked.base_url, token=wrong).sync().reset()
            with pytest.raises(errors.Unauthorized):
                GenericEnvClient(locked.base_url, token=wrong).sync().schema()
        for headers in ({}, {"Authorization": "Bearer hub"}):
            with GenericEnvClient(locked.base_url, token="secret", headers=headers).sync() as env:
                env.reset()
                env.schema()


def test_a_full_server_refuses_with_its_numbers_and_takes_the_next_one_later() -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "0"}
    with running_server("tests.support.apps.counting:app", env=settings) as small:
        first = GenericEnvClient(small.base_url).sync()
        second = GenericEnvClient(small.base_url).sync()
        first.reset()
        with pytest.raises(errors.CapacityReached) as caught:
            second.reset()
        assert (caught.value.active_sessions, caught.value.max_sessions) == (1, 1)
        assert first.step({}).observation["count"] == 1
        first.close()
        _eventually_resets(second)
        second.close()


def _eventually_resets(client: Any) -> None:
    """The first session's place is free when the server has seen its end, which no event tells us."""
    for _ in range(600):
        try:
            client.reset()
        except errors.CapacityReached:
            threading.Event().wait(0.05)
        else:
            return
    pytest.fail("the place never became free")


@pytest.fixture
def rough_server() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.misbehaving:app") as running:
        yield running


def test_a_server_killed_in_mid_step_is_noticed_at_once(rough_server: RunningServer) -> None:
    with GenericEnvClient(rough_server.base_url, timeouts={"step": 600, "connect": 3.0}).sync() as env:
        env.reset()
        killing = happening_after(1.0, lambda: os.kill(rough_server.pid, signal.SIGKILL))
        with pytest.raises(errors.ConnectionLost), killing:
            env.step({"do": "hang"})
        with pytest.raises(errors.SessionLost):
            env.step({"do": "answer"})
        # A time-out here, because this test's own process still holds the port.
        with pytest.raises((errors.ConnectError, errors.ConnectTimeout)):
            env.reset()


def test_a_step_that_takes_too_long_loses_its_session_and_no_other(rough_server: RunningServer) -> None:
    base_url = rough_server.base_url
    with GenericEnvClient(base_url).sync() as env, GenericEnvClient(base_url).sync() as other:
        env.reset()
        other.reset()
        with pytest.raises(errors.ReplyTimeout):
            env.step({"do": "hang"}, timeout_s=0.2)
        with pytest.raises(errors.SessionLost):
            env.state()
        assert other.step({"do": "answer"}).done is False
        env.reset()
        assert env.step({"do": "answer"}).done is False


def test_an_exception_in_the_environment_is_told_and_the_session_goes_on(rough_server: RunningServer) -> None:
    with GenericEnvClient(rough_server.base_url).sync() as env:
        env.reset()
        with pytest.raises(errors.ExecutionError, match="by request"):
            env.step({"do": "raise", "text": "by request"})
        assert env.state()["step_count"] == 1
