"""What a server started and left behind: processes in sessions of their own, which outlive its process group.

On Linux the watchdog is the reaper of its descendants: an orphan becomes its child, and the orphan's environment
says which server it came from.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Collection
from pathlib import Path

from openenv_gym.providers.watchdog.owned_process import SERVER_ID_VARIABLE

KEEPER_VARIABLE = "OPENENV_GYM_KEEPER"
"""Set for a keeper: by it, whoever takes over the watchdog's children lets it finish its work."""

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Makes this process the parent of every orphan among its descendants, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans(servers_pids: Collection[int], ended_ids: Collection[str]) -> int:
    """Waits for orphans that have ended and kills those of ended servers.

    Args:
        servers_pids: Children that are servers or keepers, not orphans.
        ended_ids: Ids of the servers that have ended.

    Returns:
        How many were killed and are not yet waited for.
    """
    killed = 0
    for pid in children():
        if pid in servers_pids or _waited_for(pid):
            continue
        if _variable(pid, SERVER_ID_VARIABLE) in ended_ids:
            with contextlib.suppress(ProcessLookupError):
                # It ended between the two calls.
                os.kill(pid, signal.SIGKILL)
                killed += 1
    return killed


def children() -> list[int]:
    """Process ids of this process's children; none where the system does not list them."""
    try:
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    except OSError:
        # Not Linux, or a kernel built without the list: orphans are then another process's children.
        return []
    return [int(pid) for pid in text.split()]


def _waited_for(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


def is_keeper(pid: int) -> bool:
    """Whether a child is a keeper, which ends what it keeps and then itself once the watchdog has gone."""
    return _variable(pid, KEEPER_VARIABLE) is not None


def _variable(pid: int, name: str) -> str | None:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    prefix = f"{name}=".encode()
    found = [variable for variable in variables if variable.startswith(prefix)]
    return found[0].removeprefix(prefix).decode() if found else None
