"""Virtual environments that hold the real ``openenv`` package; see ``tests.support.venvs``.

``python -m tests.support.stock 0.10.0 0.9.0`` makes them ahead of the tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import venvs
from tests.support.venvs import REPOSITORY, own_requirements, venvs_root, virtual_environment
from tests.support.venvs import VenvUnavailable as StockUnavailable
from tests.support.warm_interpreters import warm

__all__ = [
    "CURRENT",
    "MINIMUM_EXCHANGES",
    "OLD",
    "PROGRAMS",
    "REPOSITORY",
    "StockEnvironment",
    "StockUnavailable",
    "is_there",
    "play",
    "serving",
    "stock_environment",
    "venvs_root",
]

CURRENT = "0.10.0"
"""The release of openenv that every run is compared with."""

OLD = ("0.2.1", "0.3.1", "0.5.0", "0.7.0", "0.9.0")
"""Earlier releases, one of each generation of its wire."""

MINIMUM_EXCHANGES = {"interop": {CURRENT: 1400}, "interop_old": dict.fromkeys(OLD, 170)}
"""By group and release: a run of the whole group that compares fewer exchanges fails."""

PROGRAMS = REPOSITORY / "tests" / "interop" / "programs"
"""What the other interpreters run."""

START_TIMEOUT = 90.0
"""Seconds until a server must listen; openenv alone imports for five on a quiet machine."""

_SERVER_SETTINGS = ("OPENENV_MODE", "MAX_CONCURRENT_ENVS", "OPENENV_GYM_TOKEN", "ENABLE_WEB_INTERFACE")

_READ_VERSION = "import importlib.metadata; print(importlib.metadata.version('openenv'))"


@dataclass(frozen=True)
class StockEnvironment:
    """A virtual environment with openenv.

    Attributes:
        python: Its interpreter.
        version: The version of openenv that was read inside it.
    """

    python: Path
    version: str


def stock_environment(version: str = CURRENT, *, with_ours: bool = False) -> StockEnvironment:
    """The environment that holds one release of openenv.

    Args:
        version: The release.
        with_ours: Whether this checkout is installed beside it, in an environment of its own.

    Raises:
        StockUnavailable: It is not there and could not be made.
    """
    base = stock_environment(version).python if with_ours else None
    requirements = _requirements(version, with_ours=with_ours)
    name = _name(version, with_ours=with_ours)
    python = virtual_environment(name, requirements, with_ours=with_ours, base=base)
    read = subprocess.run([python, "-c", _READ_VERSION], capture_output=True, text=True, check=True, timeout=60)
    return StockEnvironment(python, read.stdout.strip())


def is_there(version: str, *, with_ours: bool = False) -> bool:
    """Whether that environment was made already."""
    return venvs.is_there(_name(version, with_ours=with_ours), _requirements(version, with_ours=with_ours))


def _name(version: str, *, with_ours: bool) -> str:
    return f"openenv-{version}-ours" if with_ours else f"openenv-{version}"


def _requirements(version: str, *, with_ours: bool) -> list[str]:
    return [f"openenv=={version}", *(own_requirements("server") if with_ours else [])]


@contextmanager
def serving(python: Path | str, names: Sequence[str], *, cwd: Path = PROGRAMS) -> Iterator[dict[str, str]]:
    """Serves apps of the interop programs by an interpreter, in one process, each on a port of its own.

    Args:
        python: The interpreter.
        names: ``module:attribute`` of each app.
        cwd: The folder of the modules.

    Yields:
        The base URL of each app.
    """
    command = [str(python), "-W", "ignore", str(PROGRAMS / "serve.py"), *names]
    environment = {name: value for name, value in os.environ.items() if name not in _SERVER_SETTINGS}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        server = subprocess.Popen(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        assert server.stdout is not None
        giving_up = threading.Timer(START_TIMEOUT, server.kill)
        giving_up.start()
        try:
            line = server.stdout.readline()
            giving_up.cancel()
            if not line:
                server.wait()
                log.seek(0)
                raise RuntimeError(f"{names} did not start:\n{log.read()[-3000:]}")
            yield json.loads(line)
        finally:
            giving_up.cancel()
            server.kill()
            server.wait()
            server.stdout.close()


def play(python: Path | str, program: str, *arguments: str, timeout: float = 90.0) -> list[dict[str, Any]]:
    """Runs one of the interop programs, or one at an absolute path, to its end and returns the JSON lines it wrote.

    Raises:
        RuntimeError: It failed; the message holds what it wrote to its standard error.
    """
    exit_code, stdout, stderr = warm(str(python)).run(PROGRAMS / program, arguments, timeout)
    if exit_code != 0:
        raise RuntimeError(f"{program} failed with {exit_code}:\n{stderr[-3000:]}")
    return [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]


if __name__ == "__main__":
    for name in sys.argv[1:] or [CURRENT]:
        made = stock_environment(name.removesuffix("-ours"), with_ours=name.endswith("-ours"))
        print(made.python, made.version)
