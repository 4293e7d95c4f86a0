"""Where a process tree's pool lies: a directory named after the tree's root process.

``OPENENV_GYM_POOL`` hands the name on to child processes. The directory is made by whoever first needs a server.

Standard library only: the watchdog's process imports this.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from openenv_gym.providers.identity import is_running, place, start_time

POOL_VARIABLE = "OPENENV_GYM_POOL"
"""The environment variable by which child processes find their tree's pool."""

_LONGEST_SOCKET_PATH = 100
"""Bytes; macOS allows 104 with the ending zero, Linux 108."""

_NAME = re.compile(r"openenv-gym-(?P<uid>\d+)-(?P<pid>\d+)-(?P<started>\d+)-(?P<place>[0-9a-f]{8})")


@dataclass(frozen=True)
class PoolLocation:
    """A pool's directory and the root process it belongs to.

    Attributes:
        parent: The folder for temporary files in which the directory lies.
        uid: The user who owns it.
        root_pid: Process id of the tree's root.
        root_started: The root's start time, see ``identity.start_time``.
        place: The boot and namespace in which the process id counts.
    """

    parent: Path
    uid: int
    root_pid: int
    root_started: int
    place: str

    @classmethod
    def of_root(cls, pid: int, started: int) -> PoolLocation:
        """The location of the tree below a process of this machine."""
        location = cls(Path(tempfile.gettempdir()), os.getuid(), pid, started, place())
        if len(os.fsencode(location.socket)) > _LONGEST_SOCKET_PATH:
            return cls(Path("/tmp"), location.uid, pid, started, location.place)
        return location

    @classmethod
    def parse(cls, directory: str | Path) -> PoolLocation | None:
        """Reads a location from its directory's path, or returns None when the path is no pool's."""
        path = Path(directory)
        match = _NAME.fullmatch(path.name)
        if match is None or not path.is_absolute():
            return None
        return cls(path.parent, int(match["uid"]), int(match["pid"]), int(match["started"]), match["place"])

    @property
    def directory(self) -> Path:
        """The pool's directory; it need not exist yet."""
        return self.parent / f"openenv-gym-{self.uid}-{self.root_pid}-{self.root_started}-{self.place}"

    @property
    def socket(self) -> Path:
        """The Unix socket on which the watchdog listens."""
        return self.directory / "socket"

    @property
    def lock(self) -> Path:
        """The file that is locked by whoever starts a watchdog or removes the directory."""
        return self.directory / "lock"

    @property
    def is_here(self) -> bool:
        """Whether the root's process id means something in this boot and namespace, to this user."""
        return self.place == place() and self.uid == os.getuid()

    def root_is_running(self) -> bool:
        """Whether the root process still runs."""
        return is_running(self.root_pid, self.root_started)

    def is_private(self) -> bool:
        """Whether the directory is there, this user's own, and closed to everybody else.

        Its name can be guessed. In another's directory, another's watchdog would be told the trainer's environment.
        """
        try:
            found = self.directory.lstat()
        except FileNotFoundError:
            return False
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077

    def make_directory(self) -> None:
        """Makes the directory, for its owner only.

        Raises:
            PermissionError: Something that is not this user's own private directory stands in its place.
        """
        try:
            self.directory.mkdir(mode=0o700)
        except FileExistsError:
            if not self.is_private():
                raise PermissionError(
                    f"{self.directory} is not a private directory of this user. Set TMPDIR to another folder."
                ) from None


def pool_location() -> PoolLocation:
    """The location of this process tree's pool, exported to the child processes made from now on.

    The root is named by ``OPENENV_GYM_POOL``; else it is the process that ``multiprocessing`` made this one for;
    else it is this process. A root that has ended is none.
    """
    exported = PoolLocation.parse(os.environ.get(POOL_VARIABLE, ""))
    if exported is not None and exported.is_here and exported.root_is_running():
        return exported
    location = _location_by_multiprocessing() or _location_of(os.getpid())
    if location is None:
        raise RuntimeError("This process's own start time cannot be read.")
    os.environ[POOL_VARIABLE] = str(location.directory)
    return location


def _location_of(pid: int) -> PoolLocation | None:
    started = start_time(pid)
    return None if started is None else PoolLocation.of_root(pid, started)


def _location_by_multiprocessing() -> PoolLocation | None:
    # A fork server started before the variable was exported gives its workers no such variable,
    # but it tells them who asked for them. Not imported when nobody else has: then this is no worker.
    process = sys.modules.get("multiprocessing.process")
    parent = process.parent_process() if process is not None else None
    return None if parent is None or parent.pid is None else _location_of(parent.pid)
