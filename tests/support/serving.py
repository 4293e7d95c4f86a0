"""Servers as ``python -m openenv_gym_server`` runs them, on a port that the kernel chooses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers import ROOT, RunningServer

PATIENCE = 60.0


@contextmanager
def serving(
    *arguments: str,
    app: str = "tests.support.apps.misbehaving:app",
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = ("-m", "openenv_gym_server"),
) -> Iterator[RunningServer]:
    """Serves an app until the block ends.

    Args:
        *arguments: Of the command line, besides the app and the port.
        app: Where it is imported from.
        env: Environment variables besides this process's own, whose settings of servers are not passed on.
        program: What Python runs.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(("OPENENV_", "MAX_CONCURRENT"))}
    command = [sys.executable, *program, app, "--port", "0", *arguments]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=own | {"PYTHONPATH": str(ROOT)} | dict(env or {}),
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        try:
            yield RunningServer(_address(process, log), process.pid, log, process.kill)
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + PATIENCE
    while not (found := re.search(r"https?://\S+:\d+", log.read_text(encoding="utf-8"))):
        assert process.poll() is None, log.read_text(encoding="utf-8")
        assert time.monotonic() < end
        time.sleep(0.05)  # no event tells that another process listens: look again
    return found.group()
