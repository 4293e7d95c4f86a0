"""What the tests of providers share: projects to run, and finding and waiting for processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.location import POOL_VARIABLE

PROJECTS = Path(__file__).parent / "projects"
PROGRAM = Path(__file__).parent / "programs" / "pool_program.py"

PATIENCE = 30.0
"""Seconds after which something hangs; on a loaded machine all else takes its time too."""


def request_for(project: str, *, options: dict[str, Any] | None = None, **settings: str) -> ServerRequest:
    """A request for one of the tests' own projects."""
    return ServerRequest(
        path=str(PROJECTS / project), options=tuple((options or {}).items()), settings=tuple(settings.items())
    )


def fetch(base_url: str, path: str) -> Any:
    """The JSON body of a GET."""
    with urllib.request.urlopen(base_url + path, timeout=PATIENCE) as response:
        return json.load(response)


def eventually(condition: Callable[[], object], *, within: float = PATIENCE) -> bool:
    """Whether the condition comes true in time."""
    ends = time.monotonic() + within
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.01)
    return True


def has_ended(process: psutil.Process) -> bool:
    """Whether a process is gone; one that nobody has waited for yet counts as gone."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def all_end(processes: Iterable[psutil.Process], *, within: float = PATIENCE) -> bool:
    """Whether all of the processes end in time."""
    listed = list(processes)
    return eventually(lambda: all(has_ended(process) for process in listed), within=within)


def watchdog_of(directory: Path) -> psutil.Process:
    """The watchdog of a pool: the child of its guard, or alone when that was killed."""
    found = watchdogs_of(directory)
    return max(found, key=lambda process: process.pid if process.ppid() in {each.pid for each in found} else 0)


def watchdogs_of(directory: Path) -> list[psutil.Process]:
    """The watchdog of a pool and its guard."""
    return [process for process in _told_of(directory) if process not in keepers_of(directory)]


def keepers_of(directory: Path) -> list[psutil.Process]:
    """The keepers of a pool's containers."""
    return [process for process in _told_of(directory) if any("keeper" in word for word in process.info["cmdline"])]


def _told_of(directory: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(directory) in (process.info["cmdline"] or []) and not has_ended(process)
    ]


def servers_of(directory: Path) -> list[psutil.Process]:
    """The servers that a pool's watchdog has recorded, and that have not ended meanwhile."""
    found = []
    for path in directory.glob("*.process"):
        with suppress(FileNotFoundError, json.JSONDecodeError, psutil.NoSuchProcess):  # it may be written just now
            found.append(psutil.Process(json.loads(path.read_text(encoding="utf-8"))["pid"]))
    return found


def process_at(base_url: str | None) -> psutil.Process:
    """The process that listens at an address."""
    port = urlsplit(str(base_url)).port
    for connection in psutil.net_connections("tcp"):
        if connection.status != psutil.CONN_LISTEN or connection.pid is None:
            continue
        if connection.laddr and connection.laddr.port == port:
            found = psutil.Process(connection.pid)
            if "uvicorn" in " ".join(found.cmdline()) or "launch" in " ".join(found.cmdline()):
                return found
    raise AssertionError(f"nobody listens at {base_url}")


class RunningProgram:
    """A trainer of the tests' own, the root of a process tree of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def read(self) -> Any:
        """The next JSON line it writes."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the program ended with {self.process.wait()}"
        return json.loads(line)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def running_program(*arguments: str, program: Path = PROGRAM, **environ: str) -> Iterator[RunningProgram]:
    """Runs ``pool_program.py`` or another outside the tests' own pool; it is killed at the end."""
    inherited = {name: value for name, value in os.environ.items() if name != POOL_VARIABLE}
    process = subprocess.Popen(
        [sys.executable, str(program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**inherited, **environ},
    )
    with process:
        try:
            yield RunningProgram(process)
        finally:
            process.kill()
