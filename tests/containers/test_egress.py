"""``egress=False``: the trainer gets in, nothing gets out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from urllib.parse import urlsplit

import docker
import pytest
from docker.models.containers import Container

from openenv_gym.providers import pool
from openenv_gym.providers.location import pool_location
from tests.support.containers import OBEDIENT_IMAGE, inside, inspected, obedient, of_this_pool, started
from tests.support.engine import Engine
from tests.support.pools import eventually

pytestmark = [pytest.mark.containers, pytest.mark.usefixtures("server_image")]

CUT_OFF = {"egress": False}

CONNECT = """
import socket
try:
    socket.create_connection(({host!r}, {port}), timeout=1).close()
    result = "connected"
except OSError as error:
    result = type(error).__name__
"""

RESOLVE = """
import socket
result = socket.getaddrinfo("openenv.example.org", 443)
"""


STARTING_TWICE = """
import sys
import docker
from tests.support.containers import inspected, obedient, started

client = docker.from_env()
held = started(obedient(options={"egress": False}))
for server in (held, started(obedient(options={"egress": False}))):
    (network,) = inspected(client, server)["NetworkSettings"]["Networks"].values()
    print(network["NetworkID"])
    if server is not held:
        server.stop()
print(flush=True)
client.close()
sys.stdin.read()
"""

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def outside(client: docker.DockerClient) -> Iterator[str]:
    """The address of a server in another of the engine's networks, which the default network reaches."""
    container: Container = client.containers.run(
        OBEDIENT_IMAGE, detach=True, network="bridge", command=["python3", "-m", "http.server", "8000"]
    )
    try:
        container.reload()
        yield container.attrs["NetworkSettings"]["IPAddress"]
    finally:
        container.remove(force=True)


def test_the_trainer_gets_in_at_the_containers_own_address(client: docker.DockerClient) -> None:
    server = started(obedient(options=CUT_OFF))
    facts = inspected(client, server)
    (network,) = facts["NetworkSettings"]["Networks"].values()
    assert server.base_url == f"http://{network['IPAddress']}:8000"
    assert not any(facts["NetworkSettings"]["Ports"].values())
    assert inside(server, "result = 1 + 1") == 2


def test_nothing_gets_out(client: docker.DockerClient, outside: str) -> None:
    reach = CONNECT.format(host=outside, port=8000)
    # So that a failure below is no accident.
    free = started(obedient())
    assert eventually(lambda: inside(free, reach) == "connected")
    cut_off = started(obedient(options=CUT_OFF))
    assert inside(cut_off, reach) != "connected"
    # Nor to an address beyond this machine: without a route, or dropped where the machine has one.
    assert inside(cut_off, CONNECT.format(host="192.0.2.10", port=80)) in ("OSError", "TimeoutError")
    assert inside(cut_off, RESOLVE).startswith("gaierror")


def test_two_that_are_cut_off_do_not_reach_each_other(client: docker.DockerClient) -> None:
    first, second = started(obedient(options=CUT_OFF)), started(obedient(options=CUT_OFF))
    networks = [list(inspected(client, each)["NetworkSettings"]["Networks"]) for each in (first, second)]
    assert networks[0] == networks[1]
    assert inside(second, "result = 'lives'") == "lives"
    address = urlsplit(second.base_url)
    assert inside(first, CONNECT.format(host=address.hostname, port=address.port)) != "connected"
    assert inside(first, CONNECT.format(host=address.hostname, port=9)) != "ConnectionRefusedError"


def test_the_network_goes_with_the_last_that_uses_it(engine: Engine) -> None:
    first, second = started(obedient(options=CUT_OFF)), started(obedient(options=CUT_OFF))
    assert len(list(of_this_pool(engine))) == 3
    first.stop()
    assert inside(second, "result = 'lives'") == "lives"
    second.stop()
    assert eventually(lambda: list(of_this_pool(engine)) == [])
    pool.shutdown()


def test_several_that_start_at_once_share_one_network(engine: Engine) -> None:
    with ThreadPoolExecutor(4) as threads:
        servers = list(threads.map(lambda _: started(obedient(options=CUT_OFF)), range(4)))
    assert len({server.base_url for server in servers}) == 4
    assert len(list(of_this_pool(engine))) == 5


def test_several_processes_that_start_at_once_share_one_network_and_none_takes_it_away(engine: Engine) -> None:
    # The root of the pool is this process.
    pool_location()
    program = [sys.executable, "-c", STARTING_TWICE]
    running = [
        subprocess.Popen(
            program,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    networks = [list(takewhile(str.strip, each.stdout or ())) for each in running]
    # Only now, when all have started theirs, the first may end.
    for each in running:
        each.communicate(timeout=60)
    assert [each.returncode for each in running] == [0] * 3
    assert networks == [[networks[0][0]] * 2] * 3


def test_a_network_of_the_users_is_joined(client: docker.DockerClient) -> None:
    network = client.networks.create("openenv-gym-test-of-networks", driver="bridge")
    try:
        server = started(obedient(options={"network": network.name}))
        assert list(inspected(client, server)["NetworkSettings"]["Networks"]) == [network.name]
        assert inside(server, "result = 'lives'") == "lives"
        server.stop()
    finally:
        network.remove()
