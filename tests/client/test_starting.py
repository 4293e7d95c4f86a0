"""A client whose server is still to be started: nothing runs before it is asked for, and nothing is left after it."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from openenv_gym_protocol import errors

from openenv_gym.client import EnvClient, GenericEnvClient
from openenv_gym.client.starting import StartingClient
from openenv_gym.providers.base import ServerHandle
from tests.support.servers import RunningServer, running_server

SECONDS = 20.0


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.counting:app") as running:
        yield running


class Handle:
    """A server that somebody else runs; it notes when it would be ended."""

    token = None
    headers: Mapping[str, str] = {}

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.stopped = threading.Event()

    def logs(self, lines: int = 100) -> str:
        return ""

    def stop(self) -> None:
        self.stopped.set()


class Start:
    """Starts it when it is allowed to, and counts how often it was asked to."""

    def __init__(self, base_url: str) -> None:
        self.handle = Handle(base_url)
        self.allowed = threading.Event()
        self.begun = threading.Event()
        self.times = 0
        self.allowed.set()

    def __call__(self) -> ServerHandle:
        self.times += 1
        self.begun.set()
        assert self.allowed.wait(SECONDS)
        return self.handle


def make(server: ServerHandle) -> GenericEnvClient:
    client = GenericEnvClient(server.base_url)
    client._server, client._ends_server = server, True
    return client


def test_it_is_awaited_and_its_server_ends_with_the_client(server: RunningServer) -> None:
    start = Start(server.base_url)
    starting = StartingClient(start, make)
    assert start.times == 0

    async def play() -> None:
        client = await starting
        assert (await client.reset(start=3)).observation["count"] == 3
        assert not start.handle.stopped.is_set()
        await client.close()
        await client.close()

    asyncio.run(play())
    assert start.handle.stopped.is_set()
    assert start.times == 1


def test_async_with_and_sync_end_the_server_too(server: RunningServer) -> None:
    entered, plain = Start(server.base_url), Start(server.base_url)

    async def play() -> None:
        async with StartingClient(entered, make) as client:
            await client.reset()

    asyncio.run(play())
    assert entered.handle.stopped.is_set()
    with StartingClient(plain, make).sync() as env:
        assert env.reset().observation["count"] == 0
        assert not plain.handle.stopped.is_set()
    assert plain.handle.stopped.is_set()


def test_it_is_a_coroutine(server: RunningServer) -> None:
    start = Start(server.base_url)
    client = asyncio.run(StartingClient(start, make))
    client.sync().close()
    assert start.handle.stopped.is_set()


def test_one_that_is_never_asked_for_starts_nothing(server: RunningServer) -> None:
    start = Start(server.base_url)
    starting = StartingClient(start, make)
    starting.close()
    del starting
    gc.collect()
    assert start.times == 0


def test_it_starts_once(server: RunningServer) -> None:
    start = Start(server.base_url)
    starting = StartingClient(start, make)
    with starting.sync(), pytest.raises(RuntimeError, match="started already"):
        starting.sync()
    assert start.times == 1


def test_a_session_made_from_it_does_not_end_the_server(server: RunningServer) -> None:
    start = Start(server.base_url)
    with StartingClient(start, make).sync() as env:
        other = env.new_session()
        other.close()
        assert not start.handle.stopped.is_set()
        assert env.reset().observation["count"] == 0


def test_a_server_that_cannot_be_connected_to_is_ended() -> None:
    start = Start("http://127.0.0.1:1")
    with pytest.raises(errors.ConnectError):
        StartingClient(start, make).sync()
    assert start.handle.stopped.wait(SECONDS)


def test_a_start_that_fails_tells_why_and_one_that_is_cancelled_ends_what_arrives_later(server: RunningServer) -> None:
    def fail() -> ServerHandle:
        raise errors.ServerStartError("no room", exit_code=3)

    with pytest.raises(errors.ServerStartError, match="no room"):
        StartingClient(fail, make).sync()
    start = Start(server.base_url)
    start.allowed.clear()

    async def cancel() -> None:
        async def resolve() -> Any:
            return await StartingClient(start, make)

        task = asyncio.create_task(resolve())
        assert await asyncio.to_thread(start.begun.wait, SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert not start.handle.stopped.is_set()
    start.allowed.set()
    assert start.handle.stopped.wait(SECONDS)


@pytest.mark.parametrize(
    ("keywords", "error"),
    [
        ({"provider": {"memry": "1g"}}, errors.UnknownOption),
        ({"provider": {"memory": 1}}, errors.ConfigurationError),
        ({"provider": object()}, errors.ConfigurationError),
        ({"provider": {"name": "process"}}, errors.ConfigurationError),
        ({"settings": {"A": 1}}, errors.ConfigurationError),
        ({"token": "secret"}, errors.ConfigurationError),
        ({"timeouts": {"strt": 1.0}}, errors.UnknownOption),
        ({"mode": "neither"}, errors.ConfigurationError),
        ({"colour": "red"}, TypeError),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(keywords: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        GenericEnvClient.from_docker_image("echo:1", **keywords)
    with pytest.raises(errors.ConfigurationError):
        EnvClient.from_docker_image("echo:1")  # which names no models


@pytest.mark.parametrize(
    ("keyword", "instead"), [({"env_vars": {"A": "1"}}, "settings="), ({"port": 9000}, r"provider=\{'port': \.\.\.\}")]
)
def test_a_keyword_of_openenvs_own_client_names_ours(keyword: dict[str, Any], instead: str) -> None:
    with pytest.raises(errors.UnknownOption, match=instead):
        GenericEnvClient.from_docker_image("echo:1", **keyword)
