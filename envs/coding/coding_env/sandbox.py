"""Starts confined interpreters, and finds out at the server's start how that goes on this machine."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError, ExecutionError

from coding_env.confinement import WORK, Confinement, Kind, find_python
from coding_env.inside.confine import hide_memory
from coding_env.processes import Lost, Process
from coding_env.settings import Settings

_START_SECONDS = 60.0
_FIRST_USER = 1_879_048_192
"""Users from here to 2,147,352,575 are nobody's, says systemd's list of numbers."""

_PROBE = "import ast, decimal, subprocess, threading; subprocess.run(['/bin/true'], check=True); print(6 * 7)"
_REMEDY = (
    "Install bubblewrap, allow user namespaces, or run the server as root. Where the server is in a container that is "
    "sandbox enough, CODING_SANDBOX=rlimits does with resource limits: the README says what that leaves unprotected."
)


class Sandbox:
    """Starts interpreters of one kind of confinement.

    Args:
        confinement: How they are confined.
        settings: Their limits.
    """

    def __init__(self, confinement: Confinement, settings: Settings) -> None:
        self.kind: Kind = confinement.kind
        self.settings = settings
        self._confinement = confinement

    def start(self, seed: int = 0, *, is_judge: bool = False) -> Process:
        """Starts an interpreter, which is ready when this returns.

        Args:
            seed: Of its module ``random``.
            is_judge: It runs tests, and other processes may not look into it.

        Raises:
            ExecutionError: It could not be started; the message has what it said.
        """
        id = secrets.token_hex(8)
        owns_processes = self.kind == "rlimits"
        uid = _FIRST_USER + secrets.randbelow(1 << 24) if self._confinement.is_root else None
        work = _own_folder(uid) if owns_processes else WORK
        plan: dict[str, Any] = {"id": id, "seed": seed, "uid": uid, "work": work, "is_judge": is_judge}
        command = self._confinement.command({**plan, "limits": self._limits(uid)})
        try:
            process = Process(
                command, output_bytes=self.settings.output_bytes, work=work, owns_processes=owns_processes
            )
        except OSError as error:
            raise ExecutionError(f"No interpreter could be started: {error}") from error
        try:
            process.receive(id, time.monotonic() + _START_SECONDS)
        except Lost as lost:
            process.kill()
            said = process.stderr.take().strip()[-500:] or f"exit code {lost.exit_code}"
            raise ExecutionError(f"No interpreter could be started: {said}") from lost
        return process

    def _limits(self, uid: int | None) -> dict[str, int]:
        settings = self.settings
        # Where there is no user namespace, the kernel counts all of the user's threads, the server's too.
        others = _threads_of(os.geteuid()) if self.kind == "rlimits" and uid is None else 0
        return {
            "RLIMIT_AS": settings.memory_mb << 20,
            "RLIMIT_CPU": settings.cpu_seconds,
            "RLIMIT_NPROC": settings.processes + 1 + others,
            "RLIMIT_FSIZE": settings.file_mb << 20,
            "RLIMIT_NOFILE": settings.open_files,
            "RLIMIT_CORE": 0,
            "RLIMIT_MSGQUEUE": 0,
        }


def make_sandbox(settings: Settings) -> Sandbox:
    """The strongest sandbox that works here, or the one that the settings ask for.

    Raises:
        ConfigurationError: None works; the message says why each does not.
    """
    if sys.platform != "linux":
        raise ConfigurationError(f"Code is confined by Linux alone, and this is {sys.platform}: run the image.")
    kinds: tuple[Kind, ...] = ("bubblewrap", "namespaces") if settings.sandbox == "auto" else (settings.sandbox,)
    python = find_python(settings.python)
    failures = []
    for kind in kinds:
        confinement = Confinement(kind, python, settings)
        failure = confinement.missing
        if failure is None:
            sandbox = Sandbox(confinement, settings)
            failure = _failure_of(sandbox)
        if failure is None:
            if kind == "rlimits":
                hide_memory()  # the code's processes have the server's user, and its token is in its environment
            return sandbox
        failures.append(f"{kind}: {failure}")
    raise ConfigurationError(f"Code cannot be confined here ({'; '.join(failures)}). {_REMEDY}")


def _failure_of(sandbox: Sandbox) -> str | None:
    try:
        process = sandbox.start()
    except ExecutionError as error:
        return error.message
    try:
        reply = process.ask({"do": "run", "code": _PROBE}, time.monotonic() + _START_SECONDS)
        told = process.stdout.take()
        return None if (reply, told) == ({**reply, "exit_code": 0}, "42\n") else process.stderr.take()[-500:]
    except Lost as lost:
        return f"the interpreter ended with {lost.exit_code}: {process.stderr.take()[-500:]}"
    finally:
        process.kill()


def _own_folder(uid: int | None) -> str:
    folder = tempfile.mkdtemp(prefix="openenv-gym-code-")
    if uid is not None:
        os.chown(folder, uid, uid)
    return folder


def _threads_of(user: int) -> int:
    count = 0
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            told = dict(
                line.split(":\t", 1) for line in path.read_text("ascii", "replace").splitlines() if ":\t" in line
            )
            count += int(told.get("Threads", 0)) if int(told["Uid"].split()[0]) == user else 0
        except (OSError, KeyError):  # it has ended meanwhile
            continue
    return count
