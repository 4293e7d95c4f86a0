"""Virtual environments that hold the real ``openenv`` package, made when first asked for and kept.

They lie in ``$OPENENV_GYM_VENVS``, else in ``.venvs`` of the checkout. ``python -m tests.support.stock 0.10.0
0.9.0`` makes them ahead of the tests.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]

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

SOURCE_ROOTS = ("", "protocol", "server", "registry", "cli")

_failures: dict[Path, str] = {}
"""What could not be made, and why: it is not tried twice in one run."""

_READ_VERSION = "import importlib.metadata; print(importlib.metadata.version('openenv'))"


class StockUnavailable(Exception):
    """The environment is not there and cannot be made: no network, or pip failed."""


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
    home = _home(version, with_ours=with_ours)
    wanted = _requirements(version, with_ours=with_ours)
    if home in _failures:
        raise StockUnavailable(_failures[home])
    home.parent.mkdir(parents=True, exist_ok=True)
    with _locked(home.with_suffix(home.suffix + ".lock")):
        if not _is_complete(home, wanted):
            try:
                _make(home, wanted, with_ours=with_ours)
            except StockUnavailable as error:
                _failures[home] = str(error)
                raise
    python = home / "bin" / "python"
    read = subprocess.run([python, "-c", _READ_VERSION], capture_output=True, text=True, check=True, timeout=60)
    return StockEnvironment(python, read.stdout.strip())


def is_there(version: str, *, with_ours: bool = False) -> bool:
    """Whether that environment was made already."""
    return _is_complete(_home(version, with_ours=with_ours), _requirements(version, with_ours=with_ours))


def venvs_root() -> Path:
    """Where the environments lie."""
    given = os.environ.get("OPENENV_GYM_VENVS")
    return Path(given).absolute() if given else REPOSITORY / ".venvs"


def _home(version: str, *, with_ours: bool) -> Path:
    return venvs_root() / (f"openenv-{version}-ours" if with_ours else f"openenv-{version}")


def _requirements(version: str, *, with_ours: bool) -> list[str]:
    wanted = [f"openenv=={version}"]
    if with_ours:
        project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        wanted += [*project["dependencies"], *project["optional-dependencies"]["server"]]
    return wanted


def _is_complete(home: Path, wanted: list[str]) -> bool:
    marker = home / "complete.json"
    return marker.is_file() and json.loads(marker.read_text(encoding="utf-8")) == _stamp(wanted)


def _stamp(wanted: list[str]) -> dict[str, str]:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    text = "\n".join([*wanted, str(REPOSITORY)])
    return {"python": python, "requirements": hashlib.sha256(text.encode()).hexdigest()}


def _make(home: Path, wanted: list[str], *, with_ours: bool) -> None:
    if home.exists():
        shutil.rmtree(home)
    try:
        venv.create(home, with_pip=True, symlinks=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise StockUnavailable(f"No virtual environment can be made in {home} (python3-venv?): {error}") from error
    python = home / "bin" / "python"
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-15:])
        raise StockUnavailable(f"pip could not install {wanted[0]} into {home}:\n{last}")
    if with_ours:
        _add_source_roots(home)
    (home / "complete.json").write_text(json.dumps(_stamp(wanted)), encoding="utf-8")


def _add_source_roots(home: Path) -> None:
    # As an editable install does, but without its build: the checkout is seen as it is.
    (site_packages,) = home.glob("lib/python3*/site-packages")
    lines = [str(REPOSITORY / root) for root in SOURCE_ROOTS]
    (site_packages / "openenv_gym_checkout.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")


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
    """Runs one of the interop programs to its end and returns the JSON lines it wrote.

    Raises:
        RuntimeError: It failed; the message holds what it wrote to its standard error.
    """
    command = [str(python), "-W", "ignore", str(PROGRAMS / program), *arguments]
    done = subprocess.run(command, cwd=PROGRAMS, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{program} failed with {done.returncode}:\n{done.stderr[-3000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    for name in sys.argv[1:] or [CURRENT]:
        made = stock_environment(name.removesuffix("-ours"), with_ours=name.endswith("-ours"))
        print(made.python, made.version)
