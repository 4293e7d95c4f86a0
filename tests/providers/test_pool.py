from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from openenv_gym_protocol.errors import ConfigurationError, OpenEnvGymError, ServerStartError, UnknownOption

from openenv_gym.providers import pool, readiness
from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.location import pool_location
from tests.support.log_records import records_of_ours
from tests.support.pools import (
    PATIENCE,
    PROJECTS,
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


def process_of(lease: pool.Lease) -> psutil.Process:
    return psutil.Process(fetch(lease.base_url, "/scope")["pid"])


def in_threads(count: int, call: Callable[[], pool.Lease]) -> list[pool.Lease | OpenEnvGymError]:
    together = threading.Barrier(count)

    def one(_: int) -> pool.Lease | OpenEnvGymError:
        together.wait(PATIENCE)
        try:
            return call()
        except OpenEnvGymError as error:
            return error

    with ThreadPoolExecutor(count) as executor:
        return list(executor.map(one, range(count)))


def test_equal_requests_share_a_server() -> None:
    first, second = pool.lease(PLAIN), pool.lease(request_for("plain"))
    assert (first.server_id, first.base_url, first.token) == (second.server_id, second.base_url, second.token)


def test_different_settings_make_different_servers() -> None:
    first, second = pool.lease(PLAIN), pool.lease(request_for("plain", MY_SETTING="1"))
    assert first.server_id != second.server_id
    assert first.base_url != second.base_url


def test_how_long_a_start_may_take_makes_no_other_server() -> None:
    first, second = pool.lease(PLAIN), pool.lease(request_for("plain", options={"start_timeout": 77}))
    assert first.server_id == second.server_id


def test_another_spelling_of_the_path_makes_no_other_server() -> None:
    spelled = ServerRequest(path=str(PROJECTS / "dying" / ".." / "plain"))
    assert pool.lease(PLAIN).server_id == pool.lease(spelled).server_id


def test_sixteen_threads_get_one_server() -> None:
    leases = in_threads(16, lambda: pool.lease(PLAIN))
    assert len({lease.server_id for lease in leases if isinstance(lease, pool.Lease)}) == 1
    assert len(leases) == 16
    assert len(servers_of(pool_location().directory)) == 1


def test_sixteen_threads_get_the_failure_of_one_start() -> None:
    errors = in_threads(16, lambda: pool.lease(request_for("dying")))
    assert all(isinstance(error, ServerStartError) and error.exit_code == 7 for error in errors)
    # Whoever came while it was starting waited for it; not sixteen starts one after the other.
    assert len(list(pool_location().directory.glob("*.log"))) < 6


@pytest.mark.parametrize("context", ["fork", "forkserver", "spawn"])
def test_sixteen_processes_get_one_server(context: str) -> None:
    with running_program("tree", context, "16", "idle") as program:
        told = program.read()
        assert len({worker["server_id"] for worker in told["workers"]}) == 1
        assert len({worker["pid"] for worker in told["workers"]}) == 16
        directory = Path(told["directory"])
        assert len(servers_of(directory)) == 1
        ours = [*watchdogs_of(directory), *servers_of(directory)]
        program.kill()
        assert all_end(ours)


def test_a_failed_start_is_not_remembered(tmp_path: Path) -> None:
    server = tmp_path / "server"
    server.mkdir()
    (server / "app.py").write_text("raise SystemExit('not yet')", encoding="utf-8")
    request = ServerRequest(path=str(tmp_path))
    with pytest.raises(ServerStartError, match="not yet"):
        pool.lease(request)
    (server / "app.py").write_text((PROJECTS / "plain/server/app.py").read_text(encoding="utf-8"), encoding="utf-8")
    assert fetch(pool.lease(request).base_url, "/health") == {"status": "healthy"}


def test_the_last_release_ends_the_server_after_its_linger() -> None:
    first, second = pool.lease(PLAIN, linger=0.0), pool.lease(PLAIN, linger=0.0)
    process = process_of(first)
    first.release()
    first.release()
    assert pool.lease(PLAIN, linger=0.0).server_id == second.server_id
    assert not has_ended(process)
    second.release()
    assert all_end([process])


def test_a_lingering_server_is_taken_up_again() -> None:
    first = pool.lease(PLAIN, linger=30.0)
    first.release()
    assert not first.is_held
    assert pool.lease(PLAIN).server_id == first.server_id


def test_a_lease_that_nobody_holds_any_more_is_released() -> None:
    lease = pool.lease(PLAIN, linger=0.0)
    process = process_of(lease)
    del lease
    assert all_end([process])


def test_a_killed_server_is_never_handed_out_again() -> None:
    for _ in range(3):
        lease = pool.lease(PLAIN)
        process_of(lease).kill()
        anew = pool.lease(PLAIN)
        assert anew.server_id != lease.server_id
        assert fetch(anew.base_url, "/health") == {"status": "healthy"}


def test_after_a_kill_of_the_watchdog_its_servers_end_and_the_next_lease_starts_anew() -> None:
    lease = pool.lease(PLAIN)
    process, watchdogs = process_of(lease), watchdogs_of(pool_location().directory)
    watchdog_of(pool_location().directory).kill()
    assert all_end([process, *watchdogs])
    assert not pool_location().directory.exists()
    anew = pool.lease(PLAIN)
    assert anew.server_id != lease.server_id
    assert fetch(anew.base_url, "/health") == {"status": "healthy"}


def test_shutdown_ends_everything_whoever_uses_it() -> None:
    leases = [pool.lease(PLAIN), pool.lease(request_for("plain", MY_SETTING="1"))]
    directory = pool_location().directory
    servers, watchdogs = [process_of(lease) for lease in leases], watchdogs_of(directory)
    pool.shutdown()
    assert all(has_ended(server) for server in servers)
    assert not directory.exists()
    assert all_end(watchdogs)
    for lease in leases:
        lease.release()
    pool.shutdown()


def test_after_a_shutdown_servers_start_anew() -> None:
    before = pool.lease(PLAIN)
    pool.shutdown()
    assert pool.lease(PLAIN).server_id != before.server_id


def test_the_pools_directory_and_files_are_the_owners_alone() -> None:
    pool.lease(PLAIN)
    directory = pool_location().directory
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in directory.iterdir() if path.stat().st_mode & 0o077} == set()


def test_the_token_is_in_no_file() -> None:
    lease = pool.lease(PLAIN)
    assert lease.token
    for path in pool_location().directory.iterdir():
        assert path.is_socket() or lease.token.encode() not in path.read_bytes()


def test_a_slow_start_is_announced(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    with caplog.at_level(logging.INFO, logger="openenv_gym"):
        # No start is quick by itself on a machine that has much to do.
        monkeypatch.setattr(readiness, "SILENCE_SECONDS", 1000.0)
        pool.lease(PLAIN)
        assert not records_of_ours(caplog)
        monkeypatch.setattr(readiness, "SILENCE_SECONDS", 0.2)
        pool.lease(request_for("plain", PLAIN_SLOW="1"))
    assert any("starting server" in record.getMessage() for record in records_of_ours(caplog))


def test_a_waiting_thread_gives_up_at_its_own_deadline() -> None:
    slow = request_for("plain", PLAIN_SLOW="20")
    patient = threading.Thread(target=in_threads, args=(1, lambda: pool.lease(slow, start_timeout=8.0)))
    patient.start()
    assert eventually(lambda: pool_location().directory.exists() and servers_of(pool_location().directory))
    with pytest.raises(ServerStartError, match=r"0\.5 s"):
        pool.lease(slow, start_timeout=0.5)
    patient.join(PATIENCE)
    assert not patient.is_alive()


def test_a_requests_own_start_timeout_counts() -> None:
    pool.lease(PLAIN)  # the watchdog runs: how long it takes to start counts too
    with pytest.raises(ServerStartError, match="1 s"):
        pool.lease(request_for("plain", options={"start_timeout": 1}, PLAIN_SLOW="20"))


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (ServerRequest(provider="proces"), ConfigurationError),
        (request_for("nowhere"), ConfigurationError),
        (request_for("plain", options={"pyhton": "x"}), UnknownOption),
    ],
)
def test_a_wrong_request_starts_nothing(request_: ServerRequest, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        pool.lease(request_)
    assert not pool_location().directory.exists()


def test_a_lease_can_be_awaited() -> None:
    lease = asyncio.run(pool.lease_async(PLAIN))
    assert lease.is_held


def test_a_cancelled_lease_is_released_when_it_comes() -> None:
    async def give_up() -> None:
        task = asyncio.create_task(pool.lease_async(request_for("plain", PLAIN_SLOW="3"), linger=0.0))
        await asyncio.sleep(0)
        await asyncio.to_thread(eventually, lambda: servers_of(pool_location().directory))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert eventually(lambda: servers_of(pool_location().directory) == [])


def test_the_log_is_read_by_its_last_lines() -> None:
    lease = pool.lease(PLAIN)
    fetch(lease.base_url, "/log?hello")
    assert eventually(lambda: lease.logs(1) == "hello")
    assert "plain server starts" in lease.logs()


def test_a_forked_child_releases_nothing_of_its_parents_and_keeps_nothing_of_it() -> None:
    with running_program("forking") as program:
        lines = [program.read(), program.read()]
        told = {name: value for line in lines for name, value in line.items()}
        child = psutil.Process(told["child"])
        (server,) = servers_of(Path(told["directory"]))
        assert told["held"] is False
        assert fetch(told["base_url"], "/health") == {"status": "healthy"}
        assert program.process.stdin is not None
        program.process.stdin.write("release\n")
        program.process.stdin.flush()
        assert program.read() == {"released": True}
        # The child still runs: had it kept its copy of the socket, the server would have a user.
        assert all_end([server])
        assert not has_ended(child)
        child.kill()


def test_a_root_that_ends_without_releasing_ends_its_pool() -> None:
    with running_program("leaving") as program:
        told = program.read()
        directory = Path(told["directory"])
        ours = [*watchdogs_of(directory), *servers_of(directory)]
        program.process.communicate("end\n", timeout=PATIENCE)
        assert all(has_ended(each) for each in ours[2:])
        assert all_end(ours)
        assert not directory.exists()


def test_a_worker_joins_the_pool_of_its_root(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = pool.lease(PLAIN)
    # As a worker of this process would: it inherits the variable.
    with running_program("leaving", OPENENV_GYM_POOL=os.environ["OPENENV_GYM_POOL"]) as program:
        told = program.read()
        assert told["base_url"] == lease.base_url
        program.process.communicate("end\n", timeout=PATIENCE)
        assert fetch(lease.base_url, "/health") == {"status": "healthy"}
