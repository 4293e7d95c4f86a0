"""A server listens at a Unix socket beside its address, where that is this machine's own, by the same rules."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from openenv_gym_protocol.local_socket import IS_SUPPORTED, local_name
from websockets.exceptions import InvalidStatus

from tests.support.certificates import certificates
from tests.support.servers import RunningServer
from tests.support.serving import serving
from tests.support.sockets import FrameSocket, frame_socket

pytestmark = pytest.mark.skipif(not IS_SUPPORTED, reason="only Linux has abstract names")

PATIENCE = 30.0
COUNTING = "tests.support.apps.counting:app"
TOKEN = "a-secret-of-the-test"


def name_of(server: RunningServer) -> str:
    parts = urlsplit(server.base_url)
    name = local_name(parts.hostname or "", parts.port or 0)
    assert name is not None
    return name


def is_listening(name: str) -> bool:
    with socket.socket(socket.AF_UNIX) as asking:
        return asking.connect_ex(name) == 0


@contextmanager
def local_socket(server: RunningServer, **options: Any) -> Iterator[FrameSocket]:
    """A connection to ``/ws`` through the Unix socket, which is there a moment after the address."""
    until(lambda: is_listening(name_of(server)))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(name_of(server))
        with frame_socket(server.ws_url, sock=connection, **options) as frames:
            yield frames


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port that the kernel gives to nobody, and that a server may yet be told to listen at."""
    with socket.socket() as reserving:
        reserving.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserving.bind(("127.0.0.1", 0))
        yield reserving.getsockname()[1]


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up, "it never happened"
        time.sleep(0.01)  # no event tells what another process does: look again


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::"])
def test_it_listens_beside_addresses_of_this_machine(host: str) -> None:
    if ":" in host and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    with serving("--host", host, "--insecure", app=COUNTING) as server, local_socket(server) as connection:
        assert connection.reset(start=3)["observation"]["count"] == 3
        assert connection.step(add=2)["observation"]["count"] == 5


def test_the_variable_turns_it_off() -> None:
    with serving(app=COUNTING, env={"OPENENV_GYM_LOCAL_SOCKET": "0"}) as server, frame_socket(server.ws_url):
        assert not is_listening(name_of(server))


def test_a_server_with_tls_has_none(tmp_path: Path) -> None:
    files = certificates(tmp_path)
    flags = ("--tls-certificate", str(files.server), "--tls-key", str(files.server_key))
    with serving(*flags, app=COUNTING) as server:
        url = server.base_url.replace("https", "wss") + "/ws"
        with frame_socket(url, ssl=files.trust()) as connection:
            assert connection.reset(start=3)["observation"]["count"] == 3
        assert not is_listening(name_of(server))


def test_a_name_that_somebody_has_keeps_no_server_from_starting() -> None:
    with reserved_port() as port, socket.socket(socket.AF_UNIX) as taking:
        name = local_name("127.0.0.1", port)
        assert name is not None
        taking.bind(name)
        with serving("--port", str(port), app=COUNTING) as server, frame_socket(server.ws_url) as connection:
            assert connection.reset(start=3)["observation"]["count"] == 3
            assert not is_listening(name)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_next_server_at_the_port_has_the_name_again(end: signal.Signals) -> None:
    with reserved_port() as port:
        for _ in range(2):
            with serving("--port", str(port), app=COUNTING) as server, local_socket(server) as connection:
                assert connection.reset(start=3)["observation"]["count"] == 3
                os.kill(server.pid, end)
                assert connection.close_code() == (1012 if end is signal.SIGTERM else None)


def test_the_end_of_the_server_is_told_on_either_way() -> None:
    with serving(app=COUNTING) as server, local_socket(server) as local, frame_socket(server.ws_url) as by_tcp:
        local.reset()
        by_tcp.reset()
        os.kill(server.pid, signal.SIGTERM)
        assert (local.close_code(), by_tcp.close_code()) == (1012, 1012)


def test_the_token_is_asked_for() -> None:
    with serving(app=COUNTING, env={"OPENENV_GYM_TOKEN": TOKEN}) as server:
        with pytest.raises(InvalidStatus), local_socket(server):
            pass
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with local_socket(server, additional_headers=headers) as connection:
            assert connection.reset(start=3)["observation"]["count"] == 3


def test_its_clients_share_what_one_peer_may_have_with_those_of_tcp() -> None:
    settings = {"OPENENV_GYM_MAX_SESSIONS_PER_PEER": "2", "MAX_CONCURRENT_ENVS": "100"}
    with (
        serving(app=COUNTING, env=settings) as server,
        local_socket(server) as local,
        frame_socket(server.ws_url) as by_tcp,
    ):
        local.reset()
        by_tcp.reset()
        for connect in (local_socket(server), frame_socket(server.ws_url)):
            with connect as third:
                told = third.receive()["data"]
                assert (told["code"], "peer" in told["message"]) == ("CAPACITY_REACHED", True)


def test_connections_leave_no_descriptor_behind() -> None:
    with serving(app=COUNTING) as server:
        process = psutil.Process(server.pid)
        with local_socket(server) as first:
            first.reset()
        until(lambda: not connections_of(process))
        before = process.num_fds()
        for _ in range(4):
            with ExitStack() as opened:
                for _ in range(50):
                    opened.enter_context(local_socket(server)).reset()
                until(lambda: connections_of(process) == 50)
        until(lambda: process.num_fds() <= before)


def connections_of(process: psutil.Process) -> int:
    """How many connections it has through its Unix socket, beside the one that listens."""
    return sum(str(each.laddr).startswith("@openenv-gym/") for each in process.net_connections("unix")) - 1
