"""The processes of a contender: started, pinned, asked and ended."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from benchmarks.contenders import Contender, Server, folder_of
from benchmarks.interpreters import REPOSITORY, python_of

START_SECONDS = 120.0
"""Until a server must answer and a driver must be ready; openenv alone imports for seconds."""

ANSWER_SECONDS = 120.0
"""Beyond what a driver was told to run."""

_SETTINGS = ("OPENENV_", "MAX_CONCURRENT_ENVS", "ENABLE_WEB_INTERFACE", "BENCHMARK_", "GYMNASIUM_ENV_")


class ContenderFailed(Exception):
    """A process ended or said nothing; the message ends with what it wrote last."""


class Process:
    """A child process, whose standard error goes to a file that failures are told from."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cores: Sequence[int],
        settings: Mapping[str, str],
        folder: str = str(REPOSITORY),
        pass_fds: Sequence[int] = (),
    ) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the process)
        self._command = command
        own = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
        with _pinned(cores):
            self._process = subprocess.Popen(
                [*command],
                cwd=folder,
                env={**own, "PYTHONUNBUFFERED": "1", **settings},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                pass_fds=pass_fds,
                text=True,
            )

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def tell(self, order: Mapping[str, Any]) -> None:
        """Writes a JSON line to its standard input."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # ``answer`` says why
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Reads a JSON line from its standard output.

        Raises:
            ContenderFailed: There is none.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ContenderFailed(f"{self._command} ended:\n{self.log()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def check_runs(self) -> None:
        """Raises ContenderFailed if it has ended."""
        if self._process.poll() is not None:
            raise ContenderFailed(f"{self._command} ended with {self._process.returncode}:\n{self.log()}")

    def log(self) -> str:
        """The end of what it wrote to its standard error."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-3000:]

    def end(self) -> None:
        """Closes its standard input, which ends a driver, and terminates it if that did not help."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        for stop in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(10)
                break
            except subprocess.TimeoutExpired:
                stop()
        self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def terminate(self) -> None:
        """Asks it to end: for servers, which do not read their standard input."""
        self._process.terminate()


def start_server(server: Server, cores: Sequence[int]) -> tuple[Process, str]:
    """Starts a server and waits until it answers; also returns its base URL.

    Raises:
        ContenderFailed: It ended, or did not answer in time.
    """
    python = python_of(server.interpreter)
    if server.by == "program":
        process = Process([python, "-m", server.app], cores=cores, settings=server.settings)
        return process, f"http://127.0.0.1:{process.answer()['port']}"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        # Accepted connections inherit it. Of an inherited socket the server does not know that it is TCP's.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(("127.0.0.1", 0))
        fd = listener.fileno()
        module = "openenv_gym_server" if server.by == "kit" else "uvicorn"
        command = [python, "-m", module, server.app, "--fd", str(fd)]
        process = Process(command, cores=cores, settings=_settings_of(server), folder=folder_of(server), pass_fds=[fd])
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        _wait_until_healthy(process, base_url)
    except BaseException:
        process.terminate()
        process.end()
        raise
    return process, base_url


def start_driver(
    contender: Contender, lanes: int, base_url: str | Sequence[str] | None, cores: Sequence[int]
) -> Process:
    """Starts a driver, whose first answer says that its lanes have been reset."""
    arguments = {**contender.arguments, "lanes": lanes, "base_url": base_url}
    command = [
        python_of(contender.interpreter),
        "-W",
        "ignore",
        "-m",
        f"benchmarks.drivers.{contender.driver}",
        json.dumps(arguments),
    ]
    return Process(command, cores=cores, settings={})


def cores_of(contender: Contender) -> tuple[Sequence[int], Sequence[int]]:
    """The cores of a contender's server and of its driver: one for each, and all for those that are not pinned."""
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if contender.all_cores or len(allowed) < 2:
        return allowed, allowed
    return allowed[:1], allowed[1:2]


def _settings_of(server: Server) -> dict[str, str]:
    # The folder that a command runs in is on the path, and not the repository's where it is another.
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    return {**server.settings, "PYTHONPATH": path}


@contextmanager
def _pinned(cores: Sequence[int]) -> Iterator[None]:
    # A child starts on the cores of the thread that forks it.
    if not cores or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _wait_until_healthy(process: Process, base_url: str) -> None:
    give_up = time.monotonic() + START_SECONDS
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < give_up:
        process.check_runs()
        try:
            with opener.open(f"{base_url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)  # no event tells that another process listens: ask again
    raise ContenderFailed(f"The server did not answer within {START_SECONDS:g} s:\n{process.log()}")
