"""The server processes of all pools of this user on this machine, for people who look after them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.identity import is_running
from openenv_gym.providers.location import PoolLocation
from openenv_gym.providers.watchdog.leftovers import reap
from openenv_gym.providers.watchdog.servers import GRACE_SECONDS

_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class ServerProcess:
    """A server's process that runs.

    Attributes:
        server_id: The server's id.
        folder: The project that it serves.
        base_url: Its address.
        pid: Its process id, which is its group's too.
        started: Its start time, see ``identity.start_time``.
        created: When it was started, in seconds since 1970.
        pool: Whose it is.
        is_left_over: Whether its owner has ended.
    """

    server_id: str
    folder: str
    base_url: str | None
    pid: int
    started: int
    created: float
    pool: PoolLocation
    is_left_over: bool


def pool_parents() -> list[Path]:
    """The folders in which pools' directories are."""
    return list(dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp"))))


def server_processes() -> list[ServerProcess]:
    """The server processes of this user's pools, the newest last."""
    found = [each for pool in _pools() for each in _of_pool(pool)]
    return sorted(found, key=lambda each: each.created)


def end_process(process: ServerProcess) -> None:
    """Ends a server's process and all of its group, and waits until it is gone. Idempotent."""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        deadline = Deadline(seconds)
        if is_running(process.pid, process.started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        while is_running(process.pid, process.started) and not deadline.passed:
            time.sleep(_PAUSE_SECONDS)


def reap_pools() -> list[str]:
    """Ends and removes the pools whose root and watchdog have ended without doing so.

    Returns:
        The directories that were removed.
    """
    return [str(removed) for parent in pool_parents() for removed in reap(parent)]


def command_of(pid: int) -> str:
    """The program of a process and what it runs; empty where this system does not tell.

    The words after that are left out: a token may stand there.
    """
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    program, *rest = [word.decode(errors="replace") for word in words if word] or [""]
    if Path(program).name.startswith("python"):
        # Its own options and the script's or the module's name; with -c, what follows is code.
        script = next((number for number, word in enumerate(rest) if word == "-c" or word[0] != "-"), len(rest))
        return " ".join([program, *rest[: script + 1]])
    return " ".join([program, *(word for word in rest[:1] if word[0] != "-")])


def _pools() -> Iterator[PoolLocation]:
    for parent in pool_parents():
        for directory in parent.glob(f"openenv-gym-{os.getuid()}-*"):
            location = PoolLocation.parse(directory)
            # What a foreign directory says of processes is nobody's word.
            if location is not None and location.is_here and location.is_private():
                yield location


def _of_pool(pool: PoolLocation) -> Iterator[ServerProcess]:
    for record in pool.directory.glob("*.process"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            # Half written, or removed since: it has ended or comes with the next look.
            facts = json.loads(record.read_text(encoding="utf-8"))
            if is_running(facts["pid"], facts["started"]):
                yield ServerProcess(
                    server_id=record.stem,
                    folder=facts.get("folder", ""),
                    base_url=f"http://127.0.0.1:{facts['port']}" if "port" in facts else None,
                    pid=facts["pid"],
                    started=facts["started"],
                    created=record.stat().st_mtime,
                    pool=pool,
                    is_left_over=not pool.root_is_running(),
                )
