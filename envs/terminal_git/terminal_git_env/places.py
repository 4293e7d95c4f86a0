"""The folders of a session: on this machine, and as who is inside sees them."""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are found inside."""

USER = 1000
"""Who the agent is inside, where there are namespaces."""

_PREFIX = "terminal-git-"
_FIRST_USER = 2_000_000_000
"""The first of the user ids that sessions of a server run by root get; no system gives them to people."""


@dataclass(frozen=True)
class Owner:
    """Who the processes of a session are, seen from outside; None for who the server is."""

    user: int | None

    @staticmethod
    def new() -> Owner:
        """Somebody of its own where the server may choose, so that sessions cannot touch one another."""
        return Owner(_FIRST_USER + secrets.randbelow(100_000_000) if os.geteuid() == 0 else None)

    def options(self) -> dict[str, Any]:
        """What ``subprocess.Popen`` needs to start as that user."""
        return {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}


@dataclass(frozen=True)
class Place:
    """The paths of a session, all on one side.

    Attributes:
        home: The agent's own folder; the work tree is in it.
        origin: The bare repository that the work tree has as origin.
        tmp: Temporary files.
        control: What the server tells the shell. Nobody inside writes there.
        secret: What the set-up leaves for the tests. The agent does not see it.
        given: The files of a set-up or of tests, while they run. Nobody inside writes there.
        logs: Where tests write a reward.
    """

    home: Path
    origin: Path
    tmp: Path
    control: Path
    secret: Path
    given: Path
    logs: Path

    @property
    def work(self) -> Path:
        """The work tree."""
        return self.home / "work"


INSIDE = Place(
    home=Path("/home/agent"),
    origin=Path("/srv/origin.git"),
    tmp=Path("/tmp"),
    control=Path("/run/terminal"),
    secret=Path("/run/secret"),
    given=Path("/given"),
    logs=Path("/logs"),
)
"""What a session looks like where mounts can be had."""


@dataclass(frozen=True)
class Session:
    """The folders of one episode.

    Attributes:
        owner: Whose they are.
        token: What marks the processes of the episode where nothing else does.
        outside: The folders on this machine.
    """

    owner: Owner
    token: str
    outside: Place

    @staticmethod
    def new(owner: Owner) -> Session:
        """Makes the folders."""
        with _making:
            root = Path(tempfile.mkdtemp(prefix="session-", dir=_server_folder()))
        names = ("home", "origin", "tmp", "control", "secret", "given", "logs")
        outside = Place(**{name: root / name for name in names})
        for name in names:
            (root / name).mkdir()
        outside.work.mkdir()
        root.chmod(0o711)
        session = Session(owner, secrets.token_hex(16), outside)
        outside.control.chmod(0o755)
        for folder in (outside.home, outside.work, outside.origin, outside.tmp, outside.secret):
            session.give(folder)
        return session

    @property
    def root(self) -> Path:
        """The folder of all."""
        return self.outside.home.parent

    def give(self, path: Path, mode: int = 0o700) -> None:
        """Makes something the agent's."""
        path.chmod(mode)
        if self.owner.user is not None:
            os.chown(path, self.owner.user, self.owner.user)

    def tell(self, name: str, text: str) -> None:
        """Writes a file into ``control``."""
        path = self.outside.control / name
        path.write_text(text, encoding="utf-8", errors="replace")
        path.chmod(0o644)  # whatever the umask is

    def put(self, files: Mapping[str, bytes], folder: Path | None = None) -> None:
        """Writes files into a folder, by default ``given``, in place of what was there."""
        into = self.outside.given if folder is None else folder
        self.renew(into)
        for name, content in files.items():
            path = into / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        subprocess.run(["chmod", "-R", "a+rX", str(into)], check=True)

    def take_secret(self) -> dict[str, bytes]:
        """Reads the files that the set-up left for the tests, by their paths, and removes them."""
        secret = self.outside.secret
        found = [path for path in secret.rglob("*") if path.is_file() and not path.is_symlink()]
        taken = {path.relative_to(secret).as_posix(): path.read_bytes() for path in found}
        self.renew(secret)
        return taken

    def renew(self, folder: Path) -> None:
        """Makes an empty folder of the server's in place of one, whatever the agent made of that.

        Raises:
            OSError: What was there could not be removed.
        """
        _remove(folder)
        folder.mkdir()
        folder.chmod(0o755)  # whatever the umask is

    def remove(self) -> None:
        """Removes the folders, whatever the agent made of them, and the server's with the last session's."""
        _remove(self.root)
        _leave()


def _remove(folder: Path) -> None:
    # rm goes down further than Python's recursion does. Folders that nobody may enter were made by this same user.
    try:
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], capture_output=True, timeout=60, check=False)
        subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        pass
    if folder.exists():
        logger.warning("%s could not be removed", folder)


_making = threading.Lock()
_server: tuple[Path, int] | None = None


def _server_folder() -> Path:
    """The folder of this server's sessions, which is locked until the last of them has ended. ``_making`` is held."""
    global _server
    if _server is None:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        folder.chmod(0o711)
        lock = os.open(folder / "new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "new").rename(folder / "lock")
        _server = folder, lock
    return _server[0]


def _leave() -> None:
    """Removes the server's folder where no session is in it: a server that is told to end runs no exit handlers."""
    global _server
    with _making:
        if _server is not None and not any(_server[0].glob("session-*")):
            folder, lock = _server
            _server = None
            _remove(folder)
            os.close(lock)


def remove_left_over() -> None:
    """Removes what servers left behind that were killed: the folders of this user that nobody locks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # just being made, or just removed
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(folder)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
