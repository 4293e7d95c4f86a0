"""The ``openenv`` command as people run it: a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from openenv_gym_cli.app import app
from typer.testing import CliRunner

COMMAND = (sys.executable, "-m", "openenv_gym_cli")

PATIENCE = 100.0
"""Seconds after which a command hangs."""

_OTHERS = ("OPENENV_", "MAX_CONCURRENT_ENVS", "NO_COLOR", "FORCE_COLOR", "HF_")


def openenv(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    answer: str | None = None,
    timeout: float = PATIENCE,
) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end.

    Args:
        *arguments: Its arguments.
        cwd: Where.
        env: Environment variables besides this process's own, whose settings are not passed on.
        answer: What its standard input holds; by default there is none.
        timeout: Seconds.
    """
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=environ(env or {}),
        input=answer or "",
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def invoked(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command in this process, for what is the same there: refusals, before anything is started."""
    ended = CliRunner().invoke(app, list(map(str, arguments)), env=dict(env or {}))
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return subprocess.CompletedProcess(list(map(str, arguments)), ended.exit_code, ended.stdout, ended.stderr)


def environ(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command: this process's without settings, and more."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)}
    return own | dict(extra)


class RunningCommand:
    """The command while it runs.

    Args:
        process: Its process, with its standard output as a pipe.
        errors: The file with its standard error.
    """

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self.process = process
        self._errors = errors

    def line(self) -> str:
        """The next line of its standard output; empty when it has ended."""
        assert self.process.stdout is not None
        giving_up = threading.Timer(PATIENCE, self.process.kill)
        giving_up.start()
        try:
            return self.process.stdout.readline().rstrip("\n")
        finally:
            giving_up.cancel()

    def errors(self) -> str:
        """What it has written to its standard error so far."""
        return self._errors.read_text(encoding="utf-8", errors="replace")

    def end(self, number: int = signal.SIGINT) -> int:
        """Sends it a signal and waits for its end; returns its exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def running_openenv(
    *arguments: str | Path, folder: Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[RunningCommand]:
    """Runs the command until the end of the block.

    Args:
        *arguments: Its arguments.
        folder: Where a file may be made.
        cwd: Where it runs.
        env: Environment variables besides this process's own, whose settings are not passed on.
    """
    errors = folder / f"openenv-{os.getpid()}-{threading.get_native_id()}-{len(list(folder.iterdir()))}.log"
    with errors.open("wb") as log:
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=cwd,
            env=environ(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    with process:
        try:
            yield RunningCommand(process, errors)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
