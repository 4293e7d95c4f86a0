"""One worker process, as the router sees it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import sys
from collections.abc import Callable

logger = logging.getLogger(__name__)

REPORT = struct.Struct("!IIII")
"""What a worker process tells: connections served so far, slots taken, slots, connections open."""


class Replica:
    """Starts a worker process, gives it connections, and hears how full it is.

    Args:
        index: Which it is, from 0 on.
        app: Where its app is imported from.

    Attributes:
        index: Which it is.
        is_ready: It takes connections.
    """

    def __init__(self, index: int, app: str) -> None:
        self.index = index
        self.is_ready = False
        self._app = app
        self._process: asyncio.subprocess.Process | None = None
        self._channel: socket.socket | None = None
        self._given = self._received = self._taken = self._slots = self._open = 0

    @property
    def burden(self) -> tuple[int, int]:
        """How little room it has, and how many connections: the least is the best to get another."""
        connections = self._open + self._given - self._received
        # One that has no session yet will have one; those of HTTP, which have none, are there for a moment only.
        return max(self._taken, connections) - self._slots, connections

    async def run(self) -> int:
        """Starts a process and waits for its end.

        Returns:
            Its exit code.
        """
        self._given = self._received = self._taken = self._slots = self._open = 0
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(0)
        reports = bytearray()
        loop = asyncio.get_running_loop()
        try:
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "openenv_gym_server.replicas.child", self._app),
                    *("--channel", str(theirs.fileno()), "--path", sys.path[0]),
                    env=os.environ | {"OPENENV_GYM_WORKER": str(self.index)},
                    pass_fds=[theirs.fileno()],
                )
            loop.add_reader(self._channel, self._read, self._channel, reports)
            return await self._process.wait()
        finally:
            self.is_ready = False
            loop.remove_reader(self._channel)
            self._channel.close()
            self._channel = None

    def give(self, connection: socket.socket) -> bool:
        """Hands a connection over, with all that was not read of it.

        Returns:
            Whether the process has it; the caller's own descriptor is the caller's to close.
        """
        if self._channel is None or not self.is_ready:
            return False
        try:
            socket.send_fds(self._channel, [b"c"], [connection.fileno()])
        except OSError:
            return False  # it has ended, or takes none for the moment
        self._given += 1
        return True

    def end(self, how: Callable[[asyncio.subprocess.Process], None] = asyncio.subprocess.Process.terminate) -> None:
        """Tells the process to end."""
        self.is_ready = False
        if self._process is not None and self._process.returncode is None:
            how(self._process)

    def _read(self, channel: socket.socket, reports: bytearray) -> None:
        try:
            told = channel.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            told = b""
        if not told:
            self.is_ready = False
            asyncio.get_running_loop().remove_reader(channel)
            return
        reports += told
        while len(reports) >= REPORT.size:
            self._received, self._taken, self._slots, self._open = REPORT.unpack_from(reports)
            del reports[: REPORT.size]
            self.is_ready = True
