"""What processes used: CPU time and memory of a process and all of its children."""

from __future__ import annotations

import time
from collections.abc import Sequence

import psutil


def cpu_seconds(pids: Sequence[int]) -> float:
    """User and system time of whole process trees, in seconds."""
    return sum(_process_seconds(process.pid) for pid in pids for process in _tree(pid))


def resident_bytes(pid: int) -> int:
    """Resident memory of one process, in bytes."""
    return int(psutil.Process(pid).memory_info().rss)


def _tree(pid: int) -> list[psutil.Process]:
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


def _process_seconds(pid: int) -> float:
    try:
        # Linux's CPU clock of another process counts nanoseconds; /proc has hundredths of a second.
        return time.clock_gettime(((~pid) << 3) | 2)
    except OSError:
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
