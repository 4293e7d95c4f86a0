"""The interpreters that contenders run in: this one, and virtual environments with what is compared."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import cache

from tests.support.stock import CURRENT
from tests.support.venvs import REPOSITORY, VenvUnavailable, is_there, virtual_environment

__all__ = ["CURRENT", "OURS", "REPOSITORY", "VenvUnavailable", "is_made", "python_of", "versions_in"]

OURS = "ours"
"""The name of the interpreter that runs the benchmarks."""

_REQUIREMENTS: dict[str, tuple[str, Sequence[str]]] = {
    "openenv": (f"openenv-{CURRENT}", [f"openenv=={CURRENT}"]),
    "dm_env_rpc": ("dm-env-rpc-1.1.7", ["dm-env-rpc==1.1.7"]),
    "echo": ("echo", ["picows==2.3.1", "uvloop==0.23.0"]),
}
"""By name: the virtual environment's folder, and what is installed in it."""

_LIST = """
import importlib.metadata
for each in importlib.metadata.distributions():
    print(each.metadata["Name"], each.version)
"""


@cache
def python_of(name: str) -> str:
    """The path of an interpreter, whose virtual environment is made when it is first asked for.

    Raises:
        VenvUnavailable: It is not there and cannot be made.
    """
    if name == OURS:
        return sys.executable
    folder, requirements = _REQUIREMENTS[name]
    return str(virtual_environment(folder, requirements))


def is_made(name: str) -> bool:
    """Whether an interpreter is there already."""
    return name == OURS or is_there(*_REQUIREMENTS[name])


def versions_in(name: str) -> dict[str, str]:
    """Every distribution that an interpreter has, and its version."""
    done = subprocess.run([python_of(name), "-c", _LIST], capture_output=True, text=True, check=True, timeout=60)
    return dict(sorted(line.split() for line in done.stdout.splitlines()))
