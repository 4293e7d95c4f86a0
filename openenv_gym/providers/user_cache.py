"""Where this project keeps what it can make or read again."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

CACHE_VARIABLE = "OPENENV_GYM_CACHE"


def cache_root() -> Path:
    """The folder of this project's caches: ``OPENENV_GYM_CACHE``, else ``openenv-gym`` in the user's cache folder.

    A user without a home, as in many a container, has one among the temporary files.
    """
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(os.path.expanduser(named))  # noqa: PTH111  (never raises)
    around = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(around) if around else Path.home() / ".cache") / "openenv-gym"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"openenv-gym-cache-{os.getuid()}"


def is_own_folder(folder: Path) -> bool:
    """Whether a folder is this user's own, and not everybody may write into it.

    What lies in another's is what they want this user to believe or to run.
    """
    try:
        found = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & stat.S_IWOTH
