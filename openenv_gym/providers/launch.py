"""Runs a project's ASGI application under uvicorn, in the project's interpreter, and dies with the watchdog.

Run by path: ``<python> .../launch.py <listening descriptor> <alive descriptor> <module:attribute>
<largest frame in bytes>``, in the project's folder. The interpreter need not have our packages, only uvicorn and what
the project imports.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import os
import signal
import socket
import sys
import threading
import types
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_GRACEFUL_SHUTDOWN_SECONDS = 1


def _die_with_the_watchdog(alive_fd: int) -> None:
    # The signal ends this process even in the middle of C code; the descriptor's end of file ends, on every system,
    # the whole group, this process's children included.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.set_inheritable(alive_fd, False)  # noqa: FBT003 (positional only)
    threading.Thread(target=_wait_for_the_end, args=(alive_fd,), name="openenv-gym-alive", daemon=True).start()


def _wait_for_the_end(alive_fd: int) -> None:
    os.read(alive_fd, 1)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _prefer_the_project(folder: Path, application: str) -> None:
    # The project's folder instead of this file's.
    sys.path[0] = str(folder)
    # A folder without __init__.py gives way to any package of that name that is installed: another project's
    # `server` would be served in its place.
    name = application.partition(":")[0].partition(".")[0]
    if (folder / name).is_dir() and not (folder / name / "__init__.py").exists():
        package = types.ModuleType(name)
        package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        package.__path__ = [str(folder / name)]
        sys.modules[name] = package


def _serve(listener: socket.socket, application: str, max_frame_bytes: int) -> None:
    # Not ours: whatever release the project's interpreter has.
    uvicorn = importlib.import_module("uvicorn")
    config = uvicorn.Config(
        application,
        access_log=False,
        ws_max_size=max_frame_bytes,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=_GRACEFUL_SHUTDOWN_SECONDS,
    )
    config.load()
    # Not by `fd=`: uvicorn takes that for a Unix socket, and `client` and `server` are missing in every scope.
    (_kit_server() or uvicorn.Server)(config).run(sockets=[listener])


def _kit_server() -> Any:
    """The server of our kit, where the application is made with a release of it that has one."""
    if "openenv_gym_server.app" not in sys.modules:
        return None
    try:
        return importlib.import_module("openenv_gym_server.local_server").LocalServer
    except ImportError:
        return None


def main() -> None:
    """Serves until the process is told to end."""
    listen_fd, alive_fd, application = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    _die_with_the_watchdog(alive_fd)
    os.set_inheritable(listen_fd, False)  # noqa: FBT003 (positional only)
    _prefer_the_project(Path.cwd(), application)
    _serve(socket.socket(fileno=listen_fd), application, int(sys.argv[4]))


if __name__ == "__main__":
    main()
