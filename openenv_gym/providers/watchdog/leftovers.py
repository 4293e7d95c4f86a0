"""What a killed watchdog or a crashed machine left: processes named in records, and the pool's directory."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from openenv_gym.providers.identity import is_running
from openenv_gym.providers.location import PoolLocation

_FOREIGN_DIRECTORY_SECONDS = 24 * 3600.0
"""After this long without change, the directory of another boot or namespace is taken for left over."""


@contextlib.contextmanager
def try_lock(location: PoolLocation) -> Iterator[bool]:
    """Takes the pool's lock if nobody holds it; yields whether it was taken.

    Raises:
        FileNotFoundError: The pool's directory does not exist.
    """
    fd = os.open(location.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file that was locked may have been removed with its directory since it was opened.
            taken = os.fstat(fd).st_ino == location.lock.stat().st_ino
        except (BlockingIOError, FileNotFoundError):
            taken = False
        yield taken
    finally:
        os.close(fd)


def watchdog_answers(location: PoolLocation) -> bool:
    """Whether a watchdog listens on the pool's socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(location.socket))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            # A full queue of connections, or one that takes long: it has much to do, but it is there.
            return True
    return True


def end_leftover_servers(location: PoolLocation) -> None:
    """Kills the servers that a pool's records name and that still run, and removes the records.

    For a pool whose watchdog has ended only, and whose process ids count here.
    """
    for record in location.directory.glob("*.process"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            # A record half written, or a process that has ended: nothing is owned by it.
            facts = json.loads(record.read_text(encoding="utf-8"))
            if is_running(facts["pid"], facts["started"]):
                os.killpg(facts["pid"], signal.SIGKILL)
        record.unlink(missing_ok=True)


def remove_directory(location: PoolLocation) -> None:
    """Removes a pool's directory. The caller holds its lock."""
    shutil.rmtree(location.directory, ignore_errors=True)


def reap(parent: Path) -> list[Path]:
    """Ends and removes the pools below a folder whose root and watchdog have ended without doing so.

    Returns:
        The directories that were removed.
    """
    removed = []
    for directory in parent.glob(f"openenv-gym-{os.getuid()}-*"):
        location = PoolLocation.parse(directory)
        if location is not None and _is_left_over(location) and _reap_one(location):
            removed.append(directory)
    return removed


def _is_left_over(location: PoolLocation) -> bool:
    try:
        found = location.directory.lstat()
    except FileNotFoundError:
        return False
    if found.st_uid != os.getuid():
        return False
    if location.is_here:
        return not location.root_is_running()
    return time.time() - found.st_mtime > _FOREIGN_DIRECTORY_SECONDS


def _reap_one(location: PoolLocation) -> bool:
    try:
        with try_lock(location) as taken:
            if not taken or watchdog_answers(location):
                return False
            if location.is_here:
                end_leftover_servers(location)
            remove_directory(location)
            return True
    except OSError:
        # Another reaper was faster, or the directory cannot be written.
        return False
