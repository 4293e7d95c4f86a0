"""What confines the processes of a session, and how they are started and ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from terminal_git_env.places import Place, Session
from terminal_git_env.transcript import Transcript

LIMITS = {
    "c": 0,  # core files
    "f": 64 * 1024,  # KiB of one file
    "n": 256,  # open files
    "s": 8 * 1024,  # KiB of stack
    "t": 300,  # seconds of processor time of one process
    "v": 2 * 1024 * 1024,  # KiB of address space of one process
}
"""The resource limits of every process inside, as bash's ``ulimit`` takes them."""

_STARTING_SECONDS = 20.0
_ENDING_SECONDS = 10.0
_TICK = 0.2

# A machine whose own limit is lower keeps that. What it writes to the descriptor $0 says that the sandbox stands.
_LIMITED = 'umask 022\n{limits}\nprintf . >&$0; eval "exec $0>&-"; exec "$@"'


@dataclass(frozen=True)
class Access:
    """What a process sees of its session besides the home, the origin, the temporary files and the control folder.

    Attributes:
        is_setup: It may write to the secret folder.
        sees_given: It sees the files that were put there for it.
        sees_secret: It sees the secret folder.
        writes_logs: It may write a reward.
    """

    is_setup: bool = False
    sees_given: bool = False
    sees_secret: bool = False
    writes_logs: bool = False

    def mounts(self, outside: Place, inside: Place) -> list[tuple[Path, Path, bool]]:
        """What is mounted: from where, to where and whether it may be written."""
        mounted = [(outside.home, inside.home, True), (outside.origin, inside.origin, True)]
        mounted += [(outside.tmp, inside.tmp, True), (outside.control, inside.control, False)]
        if self.sees_secret:
            mounted.append((outside.secret, inside.secret, self.is_setup))
        if self.sees_given:
            mounted.append((outside.given, inside.given, False))
        if self.writes_logs:
            mounted.append((outside.logs, inside.logs, True))
        return mounted


AGENT = Access()


class Sandbox(Protocol):
    """A way to confine processes.

    Attributes:
        name: What the setting calls it.
        separates: Whether sessions of one server are kept apart.
    """

    name: str
    separates: bool

    def inside(self, session: Session) -> Place:
        """The session's paths as processes inside see them."""

    def wrapped(self, session: Session, access: Access, argv: Sequence[str]) -> list[str]:
        """The command that runs ``argv`` inside."""

    def processes(self, session: Session) -> int:
        """How many processes there may be at once."""

    def end(self, session: Session, process: subprocess.Popen[bytes]) -> None:
        """Ends a process that was started inside, and all that it started; returns when they are gone."""


class SandboxFailed(RuntimeError):
    """A process could not be started inside: nothing can be said of what it would have done."""


def start(
    sandbox: Sandbox, session: Session, access: Access, argv: Sequence[str], env: Mapping[str, str], **popen: Any
) -> subprocess.Popen[bytes]:
    """Starts a program inside, and waits until the sandbox stands.

    Args:
        sandbox: What confines it.
        session: Whose.
        access: What it sees.
        argv: The program, as found inside.
        env: Its whole environment.
        **popen: More arguments of ``subprocess.Popen``.

    Raises:
        SandboxFailed: The sandbox could not be made; the message has what it said.
    """
    limits = "\n".join(
        f"ulimit -{flag} {value} 2>/dev/null" for flag, value in {**LIMITS, "u": sandbox.processes(session)}.items()
    )
    ready, tells = os.pipe()
    limited = ["bash", "--norc", "--noprofile", "-c", _LIMITED.format(limits=limits), str(tells), *argv]
    try:
        process: subprocess.Popen[bytes] = subprocess.Popen(
            sandbox.wrapped(session, access, limited),
            env=dict(env),
            cwd="/",
            pass_fds=[tells],
            **session.owner.options(),
            **popen,
        )
    except OSError as error:
        os.close(ready)
        raise SandboxFailed(f"The sandbox {sandbox.name} cannot start: {error}") from error
    finally:
        os.close(tells)
    try:
        if _is_readable(ready, _STARTING_SECONDS) and os.read(ready, 1) == b".":
            return process
    finally:
        os.close(ready)
    sandbox.end(session, process)
    printed = process.stdout.read(2000).decode("utf-8", "replace").strip() if process.stdout else ""
    raise SandboxFailed(f"The sandbox {sandbox.name} cannot start (exit code {process.returncode}). {printed}".strip())


@dataclass(frozen=True)
class Finished:
    """A program that has run.

    Attributes:
        exit_code: How it ended; 124 where it took too long.
        output: What it printed, on both streams.
        timed_out: It took too long.
    """

    exit_code: int
    output: Transcript
    timed_out: bool


def run(
    sandbox: Sandbox,
    session: Session,
    access: Access,
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    seconds: float,
    limit: int,
    given: bytes = b"",
) -> Finished:
    """Runs a program inside until it ends; what it left running is ended too.

    Args:
        sandbox: What confines it.
        session: Whose.
        access: What it sees.
        argv: The program, as found inside.
        env: Its whole environment.
        seconds: How long it may take.
        limit: The most bytes of its output that are kept.
        given: What it reads.

    Raises:
        SandboxFailed: The sandbox could not be made.
    """
    output = Transcript(limit)
    with tempfile.TemporaryFile() as stdin:
        stdin.write(given)
        stdin.seek(0)
        streams = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        process = start(sandbox, session, access, argv, env, start_new_session=True, **streams)
    assert process.stdout is not None
    try:
        timed_out = not _read(process, output, time.monotonic() + seconds)
    finally:
        sandbox.end(session, process)
        process.stdout.close()
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Finished(124 if timed_out else code, output, timed_out)


def end_child(process: subprocess.Popen[bytes]) -> None:
    """Ends a process whose child is the first process of a namespace, which ends all others of it.

    The process itself only waits for that child, and so is gone when all are.
    """
    if process.poll() is not None:
        return
    with suppress(OSError):
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
    try:
        process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _read(process: subprocess.Popen[bytes], output: Transcript, give_up: float) -> bool:
    """Reads until the process has ended; returns False where that takes too long."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    while (left := give_up - time.monotonic()) > 0:
        # Something that it left behind may hold its output open.
        if _is_readable(descriptor, min(left, _TICK)):
            data = os.read(descriptor, 65_536)
            output.feed(data)
            if not data:
                break
        elif process.poll() is not None:
            break
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(give_up - time.monotonic(), 0))
    return process.returncode is not None


def _is_readable(descriptor: int, seconds: float) -> bool:
    poll = select.poll()  # select() knows no descriptors above 1023
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
