from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from openenv_gym.providers.identity import start_time
from openenv_gym.providers.location import PoolLocation
from openenv_gym.providers.watchdog.leftovers import reap, try_lock, watchdog_answers


@pytest.fixture
def running() -> Iterator[PoolLocation]:
    """A pool whose root is this process."""
    started = start_time(os.getpid())
    assert started is not None
    # Not in tmp_path, which may be long: a socket's path may have 107 bytes.
    with tempfile.TemporaryDirectory() as parent:
        location = dataclasses.replace(PoolLocation.of_root(os.getpid(), started), parent=Path(parent))
        location.make_directory()
        yield location


@pytest.fixture
def ended(running: PoolLocation) -> PoolLocation:
    """A pool whose root, a process of this one's id, ended long ago."""
    running.directory.rmdir()
    location = dataclasses.replace(running, root_started=1)
    location.make_directory()
    return location


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as process:
        yield process
        process.kill()


def record(location: PoolLocation, pid: int, started: int | None) -> None:
    (location.directory / "server.process").write_text(json.dumps({"pid": pid, "started": started}), encoding="utf-8")


def test_a_pool_whose_root_runs_is_left_alone(running: PoolLocation) -> None:
    assert reap(running.parent) == []
    assert running.directory.exists()


def test_a_pool_whose_root_has_ended_is_removed_with_what_it_still_owns(
    ended: PoolLocation, sleeper: subprocess.Popen[bytes]
) -> None:
    record(ended, sleeper.pid, start_time(sleeper.pid))
    assert reap(ended.parent) == [ended.directory]
    assert sleeper.wait(30) == -9
    assert not ended.directory.exists()


def test_a_process_that_only_has_the_same_id_is_not_killed(
    ended: PoolLocation, sleeper: subprocess.Popen[bytes]
) -> None:
    record(ended, sleeper.pid, 1)
    assert reap(ended.parent) == [ended.directory]
    assert sleeper.poll() is None


def test_a_record_that_cannot_be_read_is_no_obstacle(ended: PoolLocation) -> None:
    (ended.directory / "server.process").write_text('{"pid":', encoding="utf-8")
    assert reap(ended.parent) == [ended.directory]


def test_a_pool_whose_watchdog_answers_is_left_to_it(ended: PoolLocation) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(ended.socket))
        listener.listen()
        assert watchdog_answers(ended)
        assert reap(ended.parent) == []
    assert not watchdog_answers(ended)
    assert reap(ended.parent) == [ended.directory]


def test_a_pool_that_somebody_has_locked_is_left_to_them(ended: PoolLocation) -> None:
    with try_lock(ended) as taken:
        assert taken
        assert reap(ended.parent) == []
    assert reap(ended.parent) == [ended.directory]


def test_the_lock_of_a_removed_directory_is_none(ended: PoolLocation) -> None:
    with try_lock(ended) as first:
        assert first
        ended.lock.unlink()
        with try_lock(ended) as second:
            assert second
    ended.lock.unlink()
    ended.directory.rmdir()
    with pytest.raises(FileNotFoundError), try_lock(ended):
        pass


def test_a_pool_of_another_place_is_removed_only_when_it_is_old(running: PoolLocation) -> None:
    elsewhere = dataclasses.replace(running, place="00000000")
    elsewhere.make_directory()
    assert reap(running.parent) == []
    os.utime(elsewhere.directory, (0, 0))
    assert reap(running.parent) == [elsewhere.directory]
    assert running.directory.exists()


def test_what_is_no_pool_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / f"openenv-gym-{os.getuid()}-notes").mkdir()
    assert reap(tmp_path) == []
    assert (tmp_path / f"openenv-gym-{os.getuid()}-notes").exists()
