"""Where and with what a run was made."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import psutil

from benchmarks.interpreters import OURS, REPOSITORY, is_made, versions_in

_CPU_INFO = Path("/proc/cpuinfo")


def machine_facts() -> dict[str, Any]:
    """The processor, memory, kernel and interpreter, the commit and the date."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain")),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "kernel": platform.release(),
        "system": platform.system(),
        "python": platform.python_version(),
        "load_before": [round(load, 2) for load in os.getloadavg()],
    }


def package_versions() -> dict[str, dict[str, str]]:
    """What each interpreter has installed; of those whose virtual environments are there."""
    return {name: versions_in(name) for name in (OURS, "openenv", "dm_env_rpc", "echo") if is_made(name)}


def _cpu_model() -> str:
    if _CPU_INFO.is_file():
        for line in _CPU_INFO.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stdout.strip()
