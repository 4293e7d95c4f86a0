from __future__ import annotations

import dataclasses
import socket
import tempfile
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ProviderError, ServerStartError

from openenv_gym.providers import watchdog_client, watchdog_start
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.location import PoolLocation, pool_location
from openenv_gym.providers.watchdog_client import WatchdogClient, own_server
from tests.support.descriptors import no_descriptor_left
from tests.support.pools import all_end, servers_of, watchdog_of


def test_the_first_connection_starts_the_watchdog_and_the_second_finds_it() -> None:
    assert WatchdogClient.connect_to_running(pool_location()) is None
    client = WatchdogClient.connect(Deadline(30))
    other = WatchdogClient.connect_to_running(pool_location())
    assert other is not None
    client.close()
    other.close()
    other.close()


def test_a_program_that_cannot_be_run_is_told_by_name() -> None:
    owner = own_server(Deadline(30))
    with pytest.raises(ProviderError, match="/nowhere/python"):
        owner.spawn(["/nowhere/python"], cwd="/", env={}, deadline=Deadline(30))
    owner.stop()


def test_the_exit_code_of_a_process_is_told_at_once() -> None:
    owner = own_server(Deadline(30))
    owner.spawn(["/bin/sh", "-c", "echo bye; exit 5"], cwd="/", env={}, deadline=Deadline(30))
    assert owner.exit_code(wait=30.0) == 5
    assert owner.logs() == "bye"
    with pytest.raises(ServerStartError):
        owner.ready("http://127.0.0.1:1", None)
    owner.stop()


def test_a_running_process_has_no_exit_code() -> None:
    owner = own_server(Deadline(30))
    owner.spawn(["/bin/sleep", "60"], cwd="/", env={}, deadline=Deadline(30))
    assert owner.exit_code() is None
    (process,) = servers_of(pool_location().directory)
    owner.stop()
    assert all_end([process])
    owner.stop()


def test_a_watchdog_that_does_not_answer_in_time_is_not_told_as_shut_down() -> None:
    owner = own_server(Deadline(30))
    dog = watchdog_of(pool_location().directory)
    dog.suspend()
    try:
        with pytest.raises(ServerStartError, match=r"did not become ready within 0\.5 s"):
            owner.spawn(["/bin/sleep", "60"], cwd="/", env={}, deadline=Deadline(0.5))
    finally:
        dog.resume()
    owner.stop()


def test_a_starter_that_goes_away_leaves_its_place_to_the_next() -> None:
    first, second = WatchdogClient.connect(Deadline(30)), WatchdogClient.connect(Deadline(30))
    assert first.acquire("key", 0.0, Deadline(30), tick=lambda: None) is None
    first.spawn(["/bin/sleep", "60"], cwd="/", env={}, deadline=Deadline(30))
    (process,) = servers_of(pool_location().directory)
    # The second waits; while it does, the first leaves.
    assert second.acquire("key", 0.0, Deadline(30), tick=first.close) is None
    assert second.server_id != first.server_id
    assert all_end([process])
    second.close()


def test_a_starters_failure_reaches_those_who_wait() -> None:
    first, second = WatchdogClient.connect(Deadline(30)), WatchdogClient.connect(Deadline(30))
    assert first.acquire("key", 0.0, Deadline(30), tick=lambda: None) is None
    failure = ServerStartError("it died", logs="why", exit_code=4)
    with pytest.raises(ServerStartError, match="it died") as caught:
        second.acquire("key", 0.0, Deadline(30), tick=lambda: first.fail(failure))
    assert (caught.value.logs, caught.value.exit_code) == ("why", 4)
    second.close()


def test_a_failure_of_another_class_keeps_its_class() -> None:
    first, second = WatchdogClient.connect(Deadline(30)), WatchdogClient.connect(Deadline(30))
    assert first.acquire("key", 0.0, Deadline(30), tick=lambda: None) is None
    with pytest.raises(ProviderError, match="no engine"):
        second.acquire("key", 0.0, Deadline(30), tick=lambda: first.fail(ProviderError("no engine")))
    second.close()


def test_a_directory_of_somebody_else_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: PoolLocation = dataclasses.replace(pool_location(), parent=tmp_path)
    taken.directory.touch()
    monkeypatch.setattr(watchdog_client, "pool_location", lambda: taken)
    with pytest.raises(ProviderError, match="TMPDIR"):
        WatchdogClient.connect(Deadline(5))


@pytest.mark.parametrize("mode", [0o777, 0o755])
def test_a_watchdog_in_a_directory_that_others_can_enter_is_told_nothing(
    mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A short folder: a socket's path is limited.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as thief:
        taken: PoolLocation = dataclasses.replace(pool_location(), parent=Path(folder))
        taken.directory.mkdir()
        taken.directory.chmod(mode)
        thief.bind(str(taken.socket))
        thief.listen()
        thief.settimeout(0.0)
        monkeypatch.setattr(watchdog_client, "pool_location", lambda: taken)
        with pytest.raises(ProviderError, match="TMPDIR"):
            WatchdogClient.connect(Deadline(5))
        assert WatchdogClient.connect_to_running(taken) is None
        with pytest.raises(BlockingIOError):
            thief.accept()


def test_a_watchdog_that_does_not_start_in_time_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog_start, "_START_SECONDS", 0.0)
    with pytest.raises(ProviderError, match="did not start within 0 s"):
        WatchdogClient.connect(Deadline(30))


def test_a_process_without_a_descriptor_is_told_so() -> None:
    location = pool_location()
    client = WatchdogClient.connect(Deadline(30))
    with no_descriptor_left():
        with pytest.raises(ProviderError, match="Too many open files"):
            WatchdogClient.connect(Deadline(5))
        with pytest.raises(ProviderError, match="Too many open files"):
            WatchdogClient.connect_to_running(location)
    client.close()
