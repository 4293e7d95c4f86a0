"""What the command and the library find on this machine."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from openenv_gym_protocol.errors import ConfigurationError, OpenEnvGymError, nearest
from openenv_gym_registry.space_address import hub_token

from openenv_gym.providers.inventory import server_processes
from openenv_gym.providers.server_environ import TOKEN_VARIABLE
from openenv_gym.providers.user_cache import CACHE_VARIABLE, cache_root, is_own_folder

_DISTRIBUTION = "openenv-gym"

_EXTRAS = {
    "server": ("fastapi", "uvicorn"),
    "docker": ("docker",),
    "mcp": ("mcp",),
    "hub": ("huggingface_hub",),
    "cli": ("typer", "rich"),
}
"""The modules that each extra brings."""

_NEEDED = ("python", "server", "folder for pools", "cache")
"""What `openenv init` to `openenv serve` take."""

_PORT = 8000


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        part: What.
        is_there: Whether it is.
        is_needed: Whether it has to be.
        told: What was found.
        remedy: What to do where it is missing.
    """

    part: str
    is_there: bool
    is_needed: bool
    told: str
    remedy: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether it has to be there and is not."""
        return self.is_needed and not self.is_there

    @property
    def mark(self) -> str:
        """How a table shows it."""
        return "ok" if self.is_there else "MISSING" if self.is_needed else "-"


class _Look(NamedTuple):
    is_there: bool
    told: str
    remedy: str = ""


def checkup(needed: Iterable[str], engine: str | None) -> list[Finding]:
    """Looks at everything.

    Args:
        needed: Parts that have to be there besides what always has to.
        engine: The engine's address; None: the usual one.

    Raises:
        ConfigurationError: There is no such part; the nearest is named.
    """
    looks: dict[str, Callable[[], _Look]] = {
        "python": _python,
        _DISTRIBUTION: _own_version,
        **{extra: _extra(extra) for extra in _EXTRAS},
        "engine": lambda: _engine(engine),
        "port": _port,
        "token": _token,
        "hub token": _hub_token,
        "folder for pools": lambda: _writable(Path(tempfile.gettempdir()), "Set TMPDIR to a folder of yours."),
        "cache": _cache,
        "servers": _servers,
    }
    wanted = [*_NEEDED, *needed]
    for part in wanted:
        if part not in looks:
            raise ConfigurationError(f"There is no part {part!r} to look at. {nearest(part, looks)}")
    return [_finding(part, look(), is_needed=part in wanted) for part, look in looks.items()]


def _finding(part: str, look: _Look, *, is_needed: bool) -> Finding:
    return Finding(part, look.is_there, is_needed, look.told, look.remedy)


def _python() -> _Look:
    told = f"{platform.python_version()} at {sys.executable}, {platform.system()} {platform.machine()}"
    return _Look(sys.version_info >= (3, 11), told, "Python 3.11 or newer is needed.")


def _own_version() -> _Look:
    return _Look(True, f"{importlib.metadata.version(_DISTRIBUTION)} at {Path(__file__).parents[1]}")  # noqa: FBT003


def _extra(extra: str) -> Callable[[], _Look]:
    def look() -> _Look:
        modules = _EXTRAS[extra]
        if any(importlib.util.find_spec(module) is None for module in modules):
            return _Look(False, "not installed", f'pip install "{_DISTRIBUTION}[{extra}]"')  # noqa: FBT003
        return _Look(True, ", ".join(f"{module} {_version(module)}" for module in modules))  # noqa: FBT003

    return look


def _version(module: str) -> str:
    try:
        return importlib.metadata.version(module)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _engine(engine: str | None) -> _Look:
    from openenv_gym.providers.docker.inventory import engine_facts

    try:
        facts = engine_facts(engine)
    except OpenEnvGymError as error:
        return _Look(False, "no Docker engine answers", error.message)  # noqa: FBT003
    return _Look(True, f"{facts.version} ({facts.platform}) at {facts.address}")  # noqa: FBT003


def _port() -> _Look:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", _PORT))
        except OSError as error:
            return _Look(False, f"{_PORT}: {error.strerror}", "openenv serve --port 0 takes one that is free.")  # noqa: FBT003
    return _Look(True, f"{_PORT} is free")  # noqa: FBT003


def _token() -> _Look:
    is_set = bool(os.environ.get(TOKEN_VARIABLE))
    remedy = f"export {TOKEN_VARIABLE}=... has servers ask for it, and clients show it by token='env:{TOKEN_VARIABLE}'."
    return _Look(is_set, f"{TOKEN_VARIABLE} is {'set' if is_set else 'not set'}", remedy)


def _hub_token() -> _Look:
    try:
        is_there = hub_token() is not None
    except OpenEnvGymError as error:
        return _Look(False, "cannot be sent", error.message)  # noqa: FBT003
    return _Look(is_there, "there" if is_there else "none", "Log in: hf auth login, or set HF_TOKEN.")


def _cache() -> _Look:
    remedy, root = f"Set {CACHE_VARIABLE} to a folder of yours.", cache_root()
    if root.exists() and not is_own_folder(root):
        return _Look(False, f"{root} is another user's, or open to everybody: it is not used", remedy)  # noqa: FBT003
    return _writable(root, remedy)


def _writable(folder: Path, remedy: str) -> _Look:
    # The nearest that exists: what is below it is made when it is needed.
    there = next(each for each in (folder, *folder.parents) if each.exists())
    is_writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    return _Look(is_writable, f"{folder}{'' if is_writable else ' cannot be written'}", remedy)


def _servers() -> _Look:
    running = server_processes()
    left = sum(each.is_left_over for each in running)
    told = f"{len(running)} server processes run"
    return _Look(not left, f"{told}, {left} of them left over" if left else told, "openenv reap ends them.")
