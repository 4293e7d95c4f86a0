"""A server's process, owned by the watchdog: its listening socket, its log, its end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openenv_gym.providers.identity import start_time
from openenv_gym.providers.watchdog.bounded_log import BoundedLog

SERVER_ID_VARIABLE = "OPENENV_GYM_SERVER_ID"
"""Set for a server and inherited by what it starts; tells which server an orphan came from."""

LISTEN_FD = "{listen_fd}"
"""In a command: stands for the number of the listening socket's descriptor."""

ALIVE_FD = "{alive_fd}"
"""In a command: stands for the descriptor that comes to its end of file when the watchdog ends."""

_BACKLOG = 2048
_CHUNK = 65536
_CHUNKS_AT_ONCE = 16


class OwnedProcess:
    """A process in a session of its own, with everything it was given.

    Args:
        server_id: Names its files in the pool's directory.
        directory: The pool's directory.
        argv: The command; ``LISTEN_FD`` and ``ALIVE_FD`` in it are replaced by numbers.
        cwd: Where it runs.
        env: Its whole environment.

    Raises:
        OSError: It could not be started: no such program, no such folder, no permission.
    """

    def __init__(self, server_id: str, directory: Path, argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> None:
        self.server_id = server_id
        self._record = directory / f"{server_id}.process"
        self._log = BoundedLog(directory / f"{server_id}.log")
        self.exit_code: int | None = None
        self._closed = False
        self._folder = cwd
        with contextlib.ExitStack() as given:
            listener = given.enter_context(_listening_socket())
            self.port: int = listener.getsockname()[1]
            alive_read, self._alive_write = os.pipe()
            given.callback(os.close, alive_read)
            self.output_fd, output_write = os.pipe()
            given.callback(os.close, output_write)
            numbers = {LISTEN_FD: str(listener.fileno()), ALIVE_FD: str(alive_read)}
            try:
                self._popen = subprocess.Popen(
                    [numbers.get(word, word) for word in argv],
                    cwd=cwd,
                    env={**env, SERVER_ID_VARIABLE: server_id},
                    stdin=subprocess.DEVNULL,
                    stdout=output_write,
                    stderr=output_write,
                    pass_fds=(listener.fileno(), alive_read),
                    start_new_session=True,
                )
            except OSError:
                self._close_files()
                raise
        os.set_blocking(self.output_fd, False)
        self._write_record()

    @property
    def pid(self) -> int:
        """The process id, which is its process group's id too."""
        return self._popen.pid

    def pump_output(self) -> bool:
        """Moves what the process has written to its log; false when nothing more will come."""
        for _ in range(0 if self._closed else _CHUNKS_AT_ONCE):
            try:
                data = os.read(self.output_fd, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._log.write(data)
        # There may be more; a server that never stops writing must not keep the others waiting.
        return not self._closed

    def has_ended(self) -> bool:
        """Whether the process has ended; then its process group is killed and its files are closed."""
        if self.exit_code is not None:
            return True
        if not _is_waitable(self.pid):
            return False
        # While the leader is not waited for, its id cannot be another group's.
        self.signal(signal.SIGKILL)
        self.exit_code = self._popen.wait()
        self.pump_output()
        self._close_files()
        self._record.unlink(missing_ok=True)
        return True

    def signal(self, number: int) -> None:
        """Sends a signal to the process and all of its group."""
        if self.exit_code is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                # Lookup: it has ended. Permission: what macOS answers for a group of zombies.
                os.killpg(self.pid, number)

    def note_not_gone(self) -> None:
        """Does nothing: the kernel holds it, and ends it when it lets go."""

    def facts(self) -> dict[str, Any]:
        """What its starter wants to know."""
        return {"pid": self.pid, "port": self.port}

    def _write_record(self) -> None:
        # For a later watchdog, should this one be killed: it ends what the record names.
        with contextlib.suppress(OSError):
            # A full disk, no descriptor: the process runs, and that later watchdog will not know it.
            facts = {"pid": self.pid, "started": start_time(self.pid), "port": self.port, "folder": self._folder}
            self._record.write_text(json.dumps(facts), encoding="utf-8")

    def _close_files(self) -> None:
        self._closed = True
        os.close(self._alive_write)
        os.close(self.output_fd)
        self._log.close()


def _listening_socket() -> socket.socket:
    # Made by protocol number and with TCP_NODELAY, which accepted connections inherit: without it every HTTP
    # answer of two writes waits for the peer's delayed acknowledgement, 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(_BACKLOG)
    return listener


def _is_waitable(pid: int) -> bool:
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    # macOS: an ended child is a zombie, which has no start time any more.
    return start_time(pid) is None
