from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.identity import start_time
from openenv_gym.providers.inventory import command_of, end_process, pool_parents, server_processes
from openenv_gym.providers.location import PoolLocation
from openenv_gym.providers.pool import lease
from tests.support.pools import has_ended, process_at, request_for

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); input()"


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[PoolLocation]:
    """The directory of a pool whose root, a process of this one's id, ended long ago."""
    # Not in tmp_path, which may be long: a socket's path may have 107 bytes.
    with tempfile.TemporaryDirectory() as parent:
        monkeypatch.setattr(tempfile, "tempdir", parent)
        location = dataclasses.replace(PoolLocation.of_root(os.getpid(), 1), parent=Path(parent))
        location.make_directory()
        yield location


@pytest.fixture
def stubborn() -> Iterator[subprocess.Popen[str]]:
    """A process that does not end when it is asked to."""
    command = [sys.executable, "-c", STUBBORN]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def record(pool: PoolLocation, **facts: object) -> None:
    (pool.directory / "some.process").write_text(json.dumps(facts), encoding="utf-8")


def test_a_running_server_is_listed_with_its_project_and_address() -> None:
    used = lease(request_for("plain"))
    (found,) = [each for each in server_processes() if each.server_id == used.server_id]
    assert (found.folder, found.base_url) == (request_for("plain").path, used.base_url)
    assert found.pid == process_at(used.base_url).pid
    assert found.pool.root_pid == os.getpid()
    assert not found.is_left_over
    used.release()


def test_a_server_whose_owner_has_ended_is_left_over(pool: PoolLocation, stubborn: subprocess.Popen[str]) -> None:
    record(pool, pid=stubborn.pid, started=start_time(stubborn.pid), port=8000, folder="/game")
    (found,) = [each for each in server_processes() if each.pool == pool]
    assert (found.is_left_over, found.folder, found.base_url) == (True, "/game", "http://127.0.0.1:8000")


def test_a_record_of_an_earlier_release_is_read_too(pool: PoolLocation, stubborn: subprocess.Popen[str]) -> None:
    record(pool, pid=stubborn.pid, started=start_time(stubborn.pid))
    (found,) = [each for each in server_processes() if each.pool == pool]
    assert (found.folder, found.base_url) == ("", None)


def test_what_does_not_run_or_cannot_be_read_is_not_listed(pool: PoolLocation, stubborn: subprocess.Popen[str]) -> None:
    record(pool, pid=stubborn.pid, started=1)
    (pool.directory / "broken.process").write_text('{"pid":', encoding="utf-8")
    assert [each for each in server_processes() if each.pool == pool] == []


def test_a_directory_that_others_can_write_is_nobodys_word(pool: PoolLocation, stubborn: subprocess.Popen[str]) -> None:
    record(pool, pid=stubborn.pid, started=start_time(stubborn.pid))
    pool.directory.chmod(0o777)
    assert [each for each in server_processes() if each.pool == pool] == []


def test_a_stubborn_process_is_ended_and_again_does_no_harm(
    pool: PoolLocation, stubborn: subprocess.Popen[str]
) -> None:
    record(pool, pid=stubborn.pid, started=start_time(stubborn.pid))
    (found,) = [each for each in server_processes() if each.pool == pool]
    end_process(found)
    assert has_ended(psutil.Process(stubborn.pid))
    assert stubborn.wait(30) == -signal.SIGKILL
    end_process(found)


def test_the_command_of_a_process_is_told_and_that_of_none_is_empty() -> None:
    assert "python" in command_of(os.getpid())
    assert command_of(2**22 + 1) == ""


def test_pools_are_looked_for_where_they_are_made(pool: PoolLocation) -> None:
    assert pool.parent in pool_parents()


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["-u", "-c", "print('ready'); input()", "--token", "hf_secret"], ["-u", "-c"]),
        (["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"], ["-u", "-m", "http.server"]),
    ],
)
def test_the_words_in_which_a_token_may_stand_are_not_told(words: list[str], shown: list[str]) -> None:
    command = [sys.executable, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            assert command_of(process.pid) == " ".join([sys.executable, *shown])
        finally:
            process.kill()


def test_of_a_program_that_is_not_pythons_no_option_is_told() -> None:
    with subprocess.Popen(["sleep", "--", "100"]) as process:
        try:
            deadline = Deadline(60)
            while not (told := command_of(process.pid)).startswith("sleep") and not deadline.passed:
                os.sched_yield()
        finally:
            process.kill()
    assert told == "sleep"
