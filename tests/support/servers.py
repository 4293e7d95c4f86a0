"""Real servers for tests: a uvicorn process on a port that the kernel chose."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.support.warm_servers import WarmProcess

ROOT = Path(__file__).parents[2]
START_SECONDS = 60.0


@dataclass(frozen=True)
class RunningServer:
    """A server process.

    Attributes:
        base_url: ``http://127.0.0.1:<port>``.
        pid: Its process.
        log_path: Where everything it writes goes.
        kill: Ends it at once, if it runs still.
    """

    base_url: str
    pid: int
    log_path: Path
    kill: Callable[[], None]

    @property
    def ws_url(self) -> str:
        """The address of the standard wire."""
        return self.base_url.replace("http://", "ws://") + "/ws"

    def log(self) -> str:
        """What it has written so far."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")


@contextmanager
def running_server(
    app_import: str = "tests.support.apps.counting:app",
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> Iterator[RunningServer]:
    """Runs an application in a process of its own until the block ends.

    Args:
        app_import: Such as ``tests.support.apps.counting:app`` (in the repository) or ``server.app:app``.
        cwd: Where to run; the repository by default.
        env: Environment variables besides this process's own, whose settings of servers are not passed on.
        python: The interpreter; it needs uvicorn and the application's packages.
    """
    with tempfile.TemporaryDirectory() as folder, _listening_socket() as listener:
        log_path = Path(folder) / "server.log"
        log_path.touch()
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        start = WarmProcess if _can_be_warm(python, env or {}) else partial(_started, python)
        process = start(
            app_import,
            listener=listener.fileno(),
            cwd=cwd or ROOT,
            env=_environ(env or {}),
            log=log_path,
        )
        listener.close()  # once the server is killed, nobody listens there
        server = RunningServer(base_url, process.pid, log_path, process.kill)
        try:
            _wait_until_healthy(server, process)
            yield server
        finally:
            _end(process)


@contextmanager
def killed(server: RunningServer) -> Iterator[None]:
    """Kills a running server when the block ends: what hangs in it would hold up its end."""
    try:
        yield
    finally:
        server.kill()


def _can_be_warm(python: str, env: Mapping[str, str]) -> bool:
    """Whether a fork would be the same: of this interpreter, with no variables that mean something to its start."""
    main = sys.modules["__main__"]
    # A fork begins with the main module, and a script might run again.
    is_script = hasattr(main, "__file__") and main.__spec__ is None
    return python == sys.executable and not is_script and not any(name.startswith("PYTHON") for name in env)


def _started(
    python: str, app_import: str, *, listener: int, cwd: Path | str, env: Mapping[str, str], log: Path
) -> subprocess.Popen[bytes]:
    with log.open("wb") as sink:
        return subprocess.Popen(
            [python, "-m", "uvicorn", app_import, "--no-access-log", "--fd", str(listener)],
            cwd=cwd,
            env=dict(env),
            stdout=sink,
            stderr=subprocess.STDOUT,
            pass_fds=[listener],
        )


def _listening_socket() -> socket.socket:
    # Bound here and inherited: between choosing a port and serving it, nobody else can take it.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # Accepted connections inherit it. Of an inherited socket the server does not know that it is TCP's.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind(("127.0.0.1", 0))
    return listener


def _environ(extra: Mapping[str, str]) -> dict[str, str]:
    settings = ("OPENENV_", "MAX_CONCURRENT_ENVS")
    own = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    return own | {"PYTHONUNBUFFERED": "1"} | dict(extra)


def _wait_until_healthy(server: RunningServer, process: subprocess.Popen[bytes] | WarmProcess) -> None:
    give_up = time.monotonic() + START_SECONDS
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < give_up:
        if (exit_code := process.poll()) is not None:
            raise RuntimeError(f"The server ended with {exit_code}:\n{server.log()}")
        try:
            with opener.open(f"{server.base_url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)  # no event tells that another process listens: ask again
    raise RuntimeError(f"The server did not answer within {START_SECONDS:g} s:\n{server.log()}")


def _end(process: subprocess.Popen[bytes] | WarmProcess) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
