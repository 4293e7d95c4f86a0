"""How the code's processes are confined on this machine: which way there is, and the command line of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from openenv_gym_protocol.errors import ConfigurationError

from coding_env.settings import Settings

Kind = Literal["bubblewrap", "namespaces", "rlimits"]

WORK = "/sandbox"
"""The code's own folder, where it has a file system of its own."""

_INSIDE = Path(__file__).parent / "inside"
_PROJECT = Path(__file__).parent.parent
_PROGRAMS = "/run/inside"
_MOUNT_POINT = "/proc"
"""Where a process with its own mount namespace builds its root: it is everywhere, and nothing is shown from it."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
_TOOLS: dict[Kind, tuple[str, ...]] = {"bubblewrap": ("bwrap",), "namespaces": ("setpriv", "unshare"), "rlimits": ()}
_PACKAGES: dict[Kind, str] = {"bubblewrap": "bubblewrap", "namespaces": "util-linux", "rlimits": ""}


@dataclass(frozen=True)
class Python:
    """An interpreter for the code.

    Attributes:
        executable: Its path.
        prefixes: The folders that it needs, as they are and without symbolic links.
        has_packages: Whether the code may import what is installed there.
    """

    executable: str
    prefixes: tuple[str, ...]
    has_packages: bool


def find_python(named: str) -> Python:
    """The interpreter that runs the code.

    Args:
        named: Its path; empty for the server's own, without packages.

    Raises:
        ConfigurationError: There is none.
    """
    executable = named or str(getattr(sys, "_base_executable", sys.executable))
    asked = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, sys.version_info[:2] >= (3, 10)]))"
    try:
        run = subprocess.run([executable, "-I", "-c", asked], capture_output=True, text=True, timeout=60, check=True)
        *prefixes, is_new = json.loads(run.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ConfigurationError(f"CODING_PYTHON={executable!r} is no Python that runs: {error}") from error
    if not is_new:
        raise ConfigurationError(f"CODING_PYTHON={executable!r} is older than Python 3.10.")
    both = {path for prefix in prefixes for path in (prefix, str(Path(prefix).resolve()))}
    return Python(executable, tuple(sorted(both)), bool(named))


class Confinement:
    """One way to confine processes, with the command lines for it.

    Args:
        kind: Which.
        python: The interpreter for the code.
        settings: The limits.
    """

    def __init__(self, kind: Kind, python: Python, settings: Settings) -> None:
        self.kind = kind
        self.is_root = os.geteuid() == 0
        self._python = python
        self._settings = settings
        self._tools = [shutil.which(tool) for tool in _TOOLS[kind]]

    @property
    def missing(self) -> str | None:
        """Why it cannot be tried here, if it cannot."""
        if None in self._tools:
            return f"{' and '.join(_TOOLS[self.kind])} not found; Debian has it in {_PACKAGES[self.kind]}"
        return None

    def command(self, plan: dict[str, Any]) -> list[str]:
        """The command line that starts an interpreter.

        Args:
            plan: What ``inside/interpreter.py`` is told besides what is known here: ``id``, ``seed``, ``uid``,
                ``work``, ``limits`` and ``is_judge``.
        """
        programs = _PROGRAMS if self.kind == "bubblewrap" else str(_INSIDE)
        told: dict[str, Any] = {"kind": self.kind, **plan}
        if self.kind == "namespaces":
            told |= {"root": _MOUNT_POINT, "binds": self._shown(), "hidden": self._hidden()}
            told |= {"links": _links(), "size": self._settings.file_mb << 20}
        flags = ["-s", "-B"] if self._python.has_packages else ["-s", "-S", "-B"]
        program = [self._python.executable, *flags, f"{programs}/interpreter.py", json.dumps(told)]
        match self.kind:
            case "bubblewrap":
                return [*self._bubblewrap(), "--", *program]
            case "namespaces":
                return [*self._unshare(), "--", *program]
        return program

    def _unshare(self) -> list[str]:
        setpriv, unshare = map(str, self._tools)
        user = [] if self.is_root else ["--user", "--map-root-user"]
        namespaces = ["--mount", "--net", "--ipc", "--uts", "--pid", "--fork", "--kill-child"]
        return [setpriv, "--pdeathsig", "KILL", "--", unshare, *user, *namespaces]

    def _bubblewrap(self) -> list[str]:
        rights = ["--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"]
        if self.is_root:
            rights = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        namespaces = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--hostname", "sandbox"]
        writable = ["--perms", "1777", "--size", str(self._settings.file_mb << 20), "--tmpfs"]
        mounts = [*writable, "/tmp", *writable, WORK]
        for source in self._shown():
            for parent in reversed(Path(source).parents[:-1]):
                mounts += ["--perms", "0755", "--dir", str(parent)]  # else only their owner may pass through
            mounts += ["--ro-bind", source, source]
        for place in self._hidden():
            mounts += ["--size", "4096", "--tmpfs", place, "--remount-ro", place]
        for name, target in _links():
            mounts += ["--symlink", target, name]
        mounts += ["--proc", "/proc", "--dev", "/dev", *writable, "/dev/shm", "--remount-ro", "/dev"]
        mounts += ["--ro-bind", str(_INSIDE), _PROGRAMS, "--remount-ro", "/", "--chdir", WORK]
        return [str(self._tools[0]), "--die-with-parent", *rights, *namespaces, *mounts]

    def _shown(self) -> list[str]:
        system = [path for path in _SYSTEM if Path(path).is_dir() and not Path(path).is_symlink()]
        own = [path for path in self._python.prefixes if not _is_below(path, system)]
        return [*system, *own, *(path for path in _FILES if Path(path).exists())]

    def _hidden(self) -> list[str]:
        """Folders that would show what is not the code's: the tests of the tasks, and packages of the server."""
        shown = self._shown()
        hidden = {str(path) for path in (_PROJECT, _PROJECT.resolve(), Path(__file__).parent) if _is_below(path, shown)}
        if not self._python.has_packages:
            for prefix in (*self._python.prefixes, "/usr", "/usr/local"):
                for packages in ("site-packages", "dist-packages"):
                    hidden |= {str(path.resolve()) for path in Path(prefix).glob(f"lib*/python*/{packages}")}
        return sorted(path for path in hidden if Path(path).is_dir() and _is_below(path, shown) and path not in shown)


def _links() -> list[tuple[str, str]]:
    return [(path, str(Path(path).readlink())) for path in _SYSTEM if Path(path).is_symlink()]


def _is_below(path: str | Path, folders: list[str]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)
