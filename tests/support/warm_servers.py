"""Server processes that need not import the server first: forks of a process that has, which saves a second each.

What they run is what ``python -m uvicorn`` runs.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["openenv_gym_server.app", "openenv_gym_server.serve", "uvicorn.main"])


class WarmProcess:
    """A server's process, with as much of ``subprocess.Popen`` as is needed.

    Args:
        arguments: Those of uvicorn.
        listener: The listening socket that is handed over.
        cwd: Where it runs.
        env: Its environment variables.
        log: Takes what it writes.
    """

    def __init__(
        self, arguments: list[str], *, listener: int, cwd: Path | str, env: Mapping[str, str], log: Path
    ) -> None:
        inherited: Any = DupFd(listener)
        self._process = _forks.Process(target=_serve, args=(arguments, inherited, str(cwd), dict(env), str(log)))
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
            raise subprocess.TimeoutExpired("uvicorn", timeout)

    def terminate(self) -> None:
        """Asks it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """Ends it."""
        self._process.kill()


def _serve(arguments: list[str], listener: Any, cwd: str, env: dict[str, str], log: str) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path.insert(0, cwd)
    with Path(log).open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    sys.argv = ["uvicorn", *arguments, "--fd", str(listener.detach())]
    runpy.run_module("uvicorn", run_name="__main__", alter_sys=True)
