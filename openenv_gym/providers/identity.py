"""Which process is meant: a process id alone is used again after its process ended.

Standard library only: the watchdog's process imports this.
"""

from __future__ import annotations

import socket
import subprocess
import zlib
from pathlib import Path

_PROCFS = Path("/proc/self/stat")
_STATE_FIELD = 0
_START_FIELD = 19


def start_time(pid: int) -> int | None:
    """When a process started, as a number that only serves to be compared.

    Returns:
        The number, or None when no such process runs; one that ended and was not yet waited for counts as ended.

    Raises:
        OSError: It cannot be found out now, such as for want of a descriptor.
    """
    if _PROCFS.exists():
        return _start_time_by_procfs(pid)
    return _start_time_by_ps(pid)


def is_running(pid: int, started: int) -> bool:
    """Whether the process with this id and this start time still runs."""
    return start_time(pid) == started


def place() -> str:
    """Names the boot and the process id namespace in which process ids mean what they mean here."""
    parts = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            parts.append(str(Path(path).readlink()) if path.endswith("pid") else Path(path).read_text(encoding="ascii"))
        except (FileNotFoundError, PermissionError):
            # No procfs here: the host's name alone has to do.
            continue
    return f"{zlib.crc32('|'.join(parts).encode()):08x}"


def _start_time_by_procfs(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        # Permission: another user's by now, on a system that hides those.
        return None
    # The command's name, in parentheses, may itself hold spaces and parentheses.
    fields = text.rpartition(")")[2].split()
    return None if fields[_STATE_FIELD] in "ZX" else int(fields[_START_FIELD])


def _start_time_by_ps(pid: int) -> int | None:
    listing = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    state, _, started = listing.partition(" ")
    return None if not state or state.startswith("Z") else zlib.crc32(started.strip().encode())
