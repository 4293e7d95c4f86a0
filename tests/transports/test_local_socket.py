"""Clients reach servers on their own machine through a Unix socket, and by TCP where that is not to be trusted."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.local_socket import IS_SUPPORTED, local_name

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from openenv_gym.client import GenericEnvClient
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.websocket import open_websocket
from tests.support.broken_network import broken_network
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.serving import serving
from tests.support.talking import Hearing

pytestmark = pytest.mark.skipif(not IS_SUPPORTED, reason="only Linux has abstract names")

PATIENCE = 30.0
COUNTING = "tests.support.apps.counting:app"
WALK = "tests.support.apps.bridge_walks:walk"
OFF = {"OPENENV_GYM_LOCAL_SOCKET": "0"}
TOKEN = "a-secret-of-the-test"
NOBODY = "65534"
LOST = (errors.ConnectionLost, errors.SessionLost)
"""What a call meets whose server is gone: the latter when that was noticed before."""

OF_ANOTHER_USER = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0" + sys.argv[1])
listener.listen()
print("listens", flush=True)
connection, _ = listener.accept()
print(connection.recv(4096), flush=True)
"""

OF_A_PROCESS_THAT_IS_GONE = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0" + sys.argv[1])
listener.listen()
if os.fork():
    print("listens", flush=True)
    os._exit(0)
sys.stdin.read()
"""

WITHOUT_DESCRIPTORS = """
import asyncio, sys
from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.websocket import open_websocket
from tests.support.descriptors import no_descriptor_left

async def main():
    with no_descriptor_left():
        try:
            await open_websocket(sys.argv[1], ConnectionOptions(), None)
        except OpenEnvGymError as error:
            print(type(error).__name__)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(COUNTING) as running:
        yield running


@pytest.fixture(scope="module")
def by_tcp() -> Iterator[RunningServer]:
    """A server without a Unix socket."""
    with running_server(COUNTING, env=OFF) as running:
        yield running


def name_of(base_url: str) -> str:
    parts = urlsplit(base_url)
    name = local_name(parts.hostname or "", parts.port or 0)
    assert name is not None
    return name


def local_connections(server: RunningServer) -> int:
    """How many connections the server has through its Unix socket."""
    return local_connections_to(server.base_url)


def local_connections_to(base_url: str) -> int:
    rows = [line.split() for line in Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()]
    return sum(row[5] == "03" and row[7:] == [name_of(base_url).replace("\0", "@")] for row in rows)


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up, "it never happened"
        time.sleep(0.01)  # no event tells what another process does: look again


def locals_of_a_session(server: RunningServer, base_url: str | None = None) -> int:
    """Plays for a moment, and returns how many connections went through the Unix socket."""
    before = local_connections(server)
    with GenericEnvClient(base_url or server.base_url).sync() as env:
        env.reset(start=3)
        assert env.step({"add": 2}).observation["count"] == 5
        found = local_connections(server) - before
    until(lambda: local_connections(server) == before)
    return found


@contextmanager
def another_process(program: str, name: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that listens under a name."""
    with subprocess.Popen(
        [sys.executable, "-I", "-c", program, name.removeprefix("\0"), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "listens\n"
            yield process
        finally:
            process.stdin.close()
            process.kill()
            process.stdout.read()  # until what it forked has ended too


async def refused(url: str, token: str | None = None) -> errors.OpenEnvGymError:
    with pytest.raises(errors.OpenEnvGymError) as caught:
        await open_websocket(url, ConnectionOptions(token=token), Hearing())
    return caught.value


def test_a_session_goes_through_the_unix_socket(server: RunningServer) -> None:
    assert locals_of_a_session(server) == 1


@pytest.mark.parametrize(("wire", "connections"), [("standard", 3), ("vector", 1)])
def test_the_lanes_of_a_vector_go_through_the_unix_socket(wire: Wire, connections: int) -> None:
    with running_server(WALK) as server:
        env = RemoteVectorEnv(server.base_url, num_envs=3, wire=wire)
        try:
            env.reset(seed=1)
            assert local_connections(server) == connections
            for _ in range(5):
                observations, *_ = env.step(env.action_space.sample())
            assert env.observation_space.contains(observations)
        finally:
            env.close()


def test_a_server_that_was_started_for_the_trainer_is_reached_so() -> None:
    env = RemoteEnv(path=ROOT / "envs" / "blackjack", provider={"linger": 0})
    try:
        env.reset(seed=1)
        assert env.server is not None
        assert local_connections_to(env.server) == 1
    finally:
        env.close()


def test_the_name_localhost_leads_there(server: RunningServer) -> None:
    assert locals_of_a_session(server, server.base_url.replace("127.0.0.1", "localhost")) == 1


def test_many_connect_at_once(server: RunningServer) -> None:
    async def play(env: GenericEnvClient) -> int:
        await env.reset(start=3)
        return int((await env.step({"add": 2})).observation["count"])

    async def main() -> None:
        clients = [GenericEnvClient(server.base_url) for _ in range(100)]
        assert await asyncio.gather(*map(play, clients)) == [5] * len(clients)
        assert local_connections(server) == len(clients)
        await asyncio.gather(*(client.close() for client in clients))

    asyncio.run(main())
    until(lambda: not local_connections(server))


def test_the_clients_variable_turns_it_off(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENENV_GYM_LOCAL_SOCKET", "0")
    assert locals_of_a_session(server) == 0


def test_a_server_that_is_told_not_to_is_reached_by_tcp(by_tcp: RunningServer) -> None:
    assert locals_of_a_session(by_tcp) == 0


def test_a_server_of_plain_uvicorn_is_reached_by_tcp() -> None:
    with serving(app=COUNTING, program=("-m", "uvicorn")) as server:
        assert locals_of_a_session(server) == 0


def test_several_worker_processes_are_reached_by_tcp() -> None:
    with serving("--workers", "2", app=COUNTING) as server:
        assert locals_of_a_session(server) == 0


def test_a_proxy_on_another_port_is_gone_through(server: RunningServer) -> None:
    with broken_network(server.base_url) as network:
        assert locals_of_a_session(server, network.base_url) == 0
        with GenericEnvClient(network.base_url).sync() as env:
            env.reset()
            network.cut()
            with pytest.raises(LOST):
                env.step({"add": 1})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_socket_of_another_user_is_told_nothing(by_tcp: RunningServer) -> None:
    with another_process(OF_ANOTHER_USER, name_of(by_tcp.base_url), NOBODY) as other:
        with GenericEnvClient(by_tcp.base_url, token=TOKEN).sync() as env:
            assert env.reset(start=3).observation["count"] == 3
        assert other.stdout is not None
        assert other.stdout.readline() == "b''\n"


def test_a_socket_whose_process_is_gone_is_left_alone(by_tcp: RunningServer) -> None:
    """What a killed server has forked may keep its socket open."""
    with another_process(OF_A_PROCESS_THAT_IS_GONE, name_of(by_tcp.base_url)) as other:
        other.wait(PATIENCE)
        with GenericEnvClient(by_tcp.base_url).sync() as env:
            assert env.reset(start=3).observation["count"] == 3


def test_where_too_many_wait_already_the_address_is_used(by_tcp: RunningServer) -> None:
    with ExitStack() as open_sockets:
        listener = open_sockets.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(name_of(by_tcp.base_url))
        listener.listen(0)
        with suppress(BlockingIOError):
            while True:
                waiting = open_sockets.enter_context(socket.socket(socket.AF_UNIX))
                waiting.setblocking(False)
                waiting.connect(name_of(by_tcp.base_url))
        with GenericEnvClient(by_tcp.base_url).sync() as env:
            assert env.reset(start=3).observation["count"] == 3


def test_a_server_that_is_killed_loses_its_sessions(server: RunningServer) -> None:
    with running_server(COUNTING) as mortal, GenericEnvClient(mortal.base_url).sync() as env:
        env.reset()
        assert local_connections(mortal) == 1
        mortal.kill()
        with pytest.raises(LOST):
            env.step({"add": 1})
        with pytest.raises(errors.SessionLost):
            env.step({"add": 1})
        with pytest.raises(errors.ConnectError):
            env.reset()


def test_without_a_free_descriptor_the_error_is_the_usual_one(server: RunningServer) -> None:
    # In a process of its own, in which nothing else opens or closes any.
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT_DESCRIPTORS, server.ws_url],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert told.stdout == "ConnectError\n", told.stderr


def test_a_url_that_is_refused_leaves_no_connection(server: RunningServer) -> None:
    error = asyncio.run(refused(server.ws_url.replace("ws://", "ws://user@")))
    assert type(error) is errors.ConfigurationError
    until(lambda: not local_connections(server))
    assert error.__traceback__ is not None  # all that it holds still lives


def test_connections_leave_no_descriptor_behind() -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def connect_and_leave(url: str) -> None:
        connection = await open_websocket(url, ConnectionOptions(token=TOKEN), Hearing())
        await connection.close()

    async def main(url: str) -> None:
        await connect_and_leave(url)
        before = descriptors()
        for _ in range(100):
            await connect_and_leave(url)
            assert type(await refused(url)) is errors.Unauthorized
        assert descriptors() < before + 50  # others may be opened or closed meanwhile

    with running_server(COUNTING, env={"OPENENV_GYM_TOKEN": TOKEN}) as server:
        asyncio.run(main(server.ws_url))
        until(lambda: not local_connections(server))
