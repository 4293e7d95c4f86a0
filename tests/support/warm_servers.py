"""Server processes that need not import the server first: forks of a process that has, which saves a second each.

What they run is the server of ``python -m openenv_gym_server``, which also listens at its Unix socket, with the options
of ``python -m uvicorn``: a client that offers compression has it, and is then served over ASGI.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["openenv_gym_server.app", "openenv_gym_server.serve"])


class WarmProcess:
    """A server's process, with as much of ``subprocess.Popen`` as is needed.

    Args:
        app_import: What it serves.
        listener: The listening socket that is handed over.
        cwd: Where it runs.
        env: Its environment variables.
        log: Takes what it writes.
    """

    def __init__(self, app_import: str, *, listener: int, cwd: Path | str, env: Mapping[str, str], log: Path) -> None:
        inherited: Any = DupFd(listener)
        self._process = _forks.Process(target=_serve, args=(app_import, inherited, str(cwd), dict(env), str(log)))
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float) -> None:
        """Waits until it has ended.

        Raises:
            TimeoutExpired: It has not.
        """
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("openenv_gym_server", timeout)

    def terminate(self) -> None:
        """Asks it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """Ends it."""
        self._process.kill()


def _serve(app_import: str, listener: Any, cwd: str, env: dict[str, str], log: str) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path.insert(0, str(Path.cwd()))  # as -m does
    with Path(log).open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    # Not every interpreter that imports this module has them.
    import uvicorn
    from openenv_gym_server.serve import _run

    # What its command line would read of them; others no test sets.
    pings = {
        option: float(env[f"UVICORN_{option.upper()}"])
        for option in ("ws_ping_interval", "ws_ping_timeout")
        if f"UVICORN_{option.upper()}" in env
    }
    _run(uvicorn.Config(app_import, fd=listener.detach(), workers=1, access_log=False, **pings))  # type: ignore[arg-type]
