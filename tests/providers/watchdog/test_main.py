"""What the watchdog is for: whatever is killed, nothing of ours stays."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from openenv_gym_protocol.errors import ServerStartError

from openenv_gym.providers import pool, watchdog
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.location import PoolLocation, pool_location
from openenv_gym.providers.watchdog_client import WatchdogClient, WatchdogGone, own_server
from tests.support.pools import (
    all_end,
    eventually,
    fetch,
    has_ended,
    request_for,
    running_program,
    servers_of,
    watchdog_of,
    watchdogs_of,
)

PLAIN = request_for("plain")
LARGEST_WATCHDOG_BYTES = 25 * 1024 * 1024


@pytest.mark.parametrize("context", ["fork", "forkserver", "spawn"])
def test_a_kill_of_the_root_ends_every_process_with_requests_in_flight(context: str) -> None:
    with running_program("tree", context, "2", "hang") as program:
        told = program.read()
        directory = Path(told["directory"])
        root = psutil.Process(program.process.pid)
        tree = root.children(recursive=True)
        ours = [*watchdogs_of(directory), *servers_of(directory)]
        assert len(ours) == 3
        assert len(tree) >= 2
        program.kill()
        # The workers end too: what they wait for is the server.
        assert all_end([*ours, *tree])
        assert not directory.exists()


@pytest.mark.parametrize("context", ["fork", "forkserver", "spawn"])
def test_a_kill_of_root_watchdog_and_guard_together_ends_every_server(context: str) -> None:
    with running_program("tree", context, "2", "hang") as program:
        directory = Path(program.read()["directory"])
        servers, dogs = servers_of(directory), watchdogs_of(directory)
        tree = psutil.Process(program.process.pid).children(recursive=True)
        for dog in dogs:
            dog.kill()
        program.kill()
        assert all_end([*dogs, *servers, *tree])
        # Nobody was left to remove the directory; whoever starts a pool next does: here, or beside these tests.
        pool.lease(PLAIN)
        assert eventually(lambda: not directory.exists())


def test_a_kill_of_a_worker_leaves_the_server_to_the_others() -> None:
    with running_program("tree", "fork", "2", "idle") as program:
        told = program.read()
        psutil.Process(told["workers"][0]["pid"]).kill()
        assert fetch(told["workers"][1]["base_url"], "/health") == {"status": "healthy"}


@pytest.mark.parametrize("where", ["group", "session"])
def test_what_a_server_started_ends_with_the_watchdog(where: str) -> None:
    lease = pool.lease(request_for("plain", PLAIN_CHILD=where))
    server = psutil.Process(fetch(lease.base_url, "/scope")["pid"])
    (child,) = server.children()
    watchdog_of(pool_location().directory).kill()
    assert all_end([server, child])


def test_a_watchdog_that_is_ending_begins_nothing_more() -> None:
    location = pool_location()
    stubborn, starter = own_server(Deadline(30)), own_server(Deadline(30))
    stubborn.spawn(
        ["/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"], cwd="/", env={}, deadline=Deadline(30)
    )
    assert eventually(lambda: "up" in stubborn.logs())
    stubborn.ready("http://127.0.0.1:1", None)
    waiting = WatchdogClient.connect(Deadline(30))
    dog = watchdog_of(location.directory)
    stubborn._send("shutdown")
    assert eventually(lambda: takes_no_users(location))
    with pytest.raises(WatchdogGone):
        waiting.acquire("key", 60.0, Deadline(30), tick=lambda: None)
    with pytest.raises(ServerStartError):
        starter.spawn(["/bin/sleep", "60"], cwd="/", env={}, deadline=Deadline(30))
    assert all_end([dog])
    for client in (stubborn, starter, waiting):
        client.close()


def takes_no_users(location: PoolLocation) -> bool:
    with socket.socket(socket.AF_UNIX) as user:
        user.settimeout(1.0)
        try:
            user.connect(str(location.socket))
            return not user.recv(1)
        except TimeoutError:
            return False
        except OSError:
            return True  # it has ended already


def test_a_kill_of_the_guard_changes_nothing_for_the_users() -> None:
    lease = pool.lease(PLAIN)
    directory = pool_location().directory
    server, dog = servers_of(directory)[0], watchdog_of(directory)
    (guard,) = (each for each in watchdogs_of(directory) if each != dog)
    guard.kill()
    assert all_end([guard])
    assert pool.lease(PLAIN).server_id == lease.server_id
    pool.shutdown()
    assert all_end([dog, server])
    assert not directory.exists()


def test_a_terminated_watchdog_ends_its_pool_in_good_order() -> None:
    pool.lease(PLAIN)
    directory = pool_location().directory
    ours = [*watchdogs_of(directory), *servers_of(directory)]
    for dog in watchdogs_of(directory):
        with suppress(psutil.NoSuchProcess):  # one ends with the other
            dog.terminate()
    assert all_end(ours)
    assert not directory.exists()


def test_a_server_that_does_not_end_when_asked_is_killed() -> None:
    lease = pool.lease(PLAIN)
    server = psutil.Process(fetch(lease.base_url, "/scope")["pid"])
    server.suspend()
    pool.shutdown()
    assert has_ended(server)


def test_the_watchdog_is_small_and_knows_nothing_of_the_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    pool.lease(PLAIN)
    dog = watchdog_of(pool_location().directory)
    assert dog.memory_info().rss < LARGEST_WATCHDOG_BYTES
    assert "HF_TOKEN" not in dog.environ()
    assert dog.cwd() == "/"
    assert os.getsid(dog.pid) != os.getsid(0)


def test_the_watchdog_imports_the_standard_library_only() -> None:
    program = (
        "import sys, runpy; sys.argv = ['', '']\n"
        "try: runpy.run_path(sys.argv.pop() or PATH, run_name='__main__')\n"
        "except (SystemExit, IndexError): pass\n"
        "ours = {name for name in sys.modules if name.startswith('openenv_gym')}\n"
        "others = {name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'__main__'}\n"
        "print(sorted(others), 'openenv_gym.providers.watchdog.main' in ours)"
    )
    path = Path(watchdog.__file__).with_name("__main__.py")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program.replace("PATH", repr(str(path)))],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.strip() == "['openenv_gym'] True"


def test_a_user_of_another_version_is_turned_away_and_nobody_else_notices() -> None:
    lease = pool.lease(PLAIN)
    for nonsense in (b"not json\n", b"[]\n", b'{"op": "dance"}\n', b'{"op": "spawn"}\n', b'{"op": "acquire"}\n'):
        assert _answer_to(nonsense, pool_location()) == b""
    assert fetch(lease.base_url, "/health") == {"status": "healthy"}
    assert pool.lease(PLAIN).server_id == lease.server_id


def _answer_to(line: bytes, location: PoolLocation) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(location.socket))
        connection.sendall(line)
        return connection.recv(100)
