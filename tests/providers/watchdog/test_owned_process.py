from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openenv_gym.providers.watchdog.bounded_log import tail
from openenv_gym.providers.watchdog.owned_process import ALIVE_FD, LISTEN_FD, SERVER_ID_VARIABLE, OwnedProcess
from tests.support.pools import eventually

Run = Callable[[str], OwnedProcess]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Runs a Python program with the listening descriptor as its first argument and the alive one as its second."""
    processes = []

    def start(program: str) -> OwnedProcess:
        argv = [sys.executable, "-S", "-c", program, LISTEN_FD, ALIVE_FD]
        processes.append(OwnedProcess("one", tmp_path, argv, str(tmp_path), {"PATH": "/bin"}))
        return processes[-1]

    yield start
    for process in processes:
        process.signal(signal.SIGKILL)
        assert eventually(process.has_ended)


def logged(process: OwnedProcess, folder: Path) -> str:
    process.pump_output()
    return tail(folder / "one.log", 100)


def test_the_process_is_given_a_socket_that_listens_already(run: Run) -> None:
    program = "import socket, sys; s = socket.socket(fileno=int(sys.argv[1])); s.accept()[0].sendall(b'hello')"
    process = run(program)
    with socket.create_connection(("127.0.0.1", process.port), timeout=10) as connection:
        assert connection.recv(10) == b"hello"


def test_connections_are_refused_when_the_process_has_ended(run: Run) -> None:
    process = run("")
    assert eventually(process.has_ended)
    assert process.exit_code == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", process.port), timeout=10)


def test_the_process_has_its_own_environment_folder_and_session(run: Run, tmp_path: Path) -> None:
    process = run("import os, json; print(json.dumps([dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid()]))")
    assert eventually(process.has_ended)
    environ, folder, leads = json.loads(logged(process, tmp_path))
    assert environ[SERVER_ID_VARIABLE] == "one"
    assert environ["PATH"] == "/bin"
    assert "HOME" not in environ
    assert (folder, leads) == (str(tmp_path), True)


def test_both_outputs_go_to_the_log_to_the_last_line(run: Run, tmp_path: Path) -> None:
    process = run("import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)")
    assert eventually(process.has_ended)
    assert logged(process, tmp_path).splitlines() == ["out", "err"]
    assert process.exit_code == 3


def test_its_record_is_there_as_long_as_it_runs(run: Run, tmp_path: Path) -> None:
    process = run("import time; time.sleep(60)")
    assert json.loads((tmp_path / "one.process").read_text(encoding="utf-8"))["pid"] == process.pid
    process.signal(signal.SIGKILL)
    assert eventually(process.has_ended)
    assert process.exit_code == -signal.SIGKILL
    assert not (tmp_path / "one.process").exists()
    process.signal(signal.SIGKILL)


def test_the_alive_descriptor_stays_open_while_the_owner_lives(run: Run) -> None:
    process = run("import os, sys; os.read(int(sys.argv[2]), 1); sys.exit(9)")
    assert not process.has_ended()
    os.close(process._alive_write)
    # What the end of the owner does.
    process._alive_write = os.open(os.devnull, os.O_RDONLY)
    assert eventually(process.has_ended)
    assert process.exit_code == 9


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list its descriptors")
def test_a_program_that_does_not_exist_leaves_no_descriptor_open(tmp_path: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    for _ in range(50):
        with pytest.raises(FileNotFoundError):
            OwnedProcess("one", tmp_path, ["/nowhere"], "/", {})
    assert descriptors() < before + 25  # what tests before this one left may have been closed meanwhile, or opened
