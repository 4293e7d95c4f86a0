"""Takes connections on the server's port, looks at their first bytes, and hands them to worker processes.

Nothing is read from a connection before it is handed over, and nothing passes through here afterwards: a worker process
serves it as if it had accepted it. Over HTTP it does so for one request, so that each is looked at.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from openenv_gym_server.replicas.heads import PEEK_BYTES, Head, read_head
from openenv_gym_server.replicas.merging import MERGED, Answer, merged, read_answer
from openenv_gym_server.replicas.replica import Replica

logger = logging.getLogger("uvicorn.error")
"""Where uvicorn tells that it serves, and what becomes of its processes."""

_BACKLOG = 2048
_PAUSES = (0.002, 0.2)
"""Seconds after which an incomplete head is looked at again: at first, and at most."""
_START_SECONDS = 60.0
"""How long a connection waits for its worker process to be started."""
_ANSWER_SECONDS = 10.0
"""How long an answer about all of them waits for each."""
_RESTART_PAUSE = 1.0


class StartFailed(Exception):
    """A worker process ended before it had begun to serve."""


class Router:
    """Runs the worker processes and places connections.

    Args:
        listener: A bound socket.
        replicas: The worker processes.
        patience: How long the head of a request may take, in seconds.
        end_seconds: How long the worker processes may take to end.
    """

    def __init__(
        self, listener: socket.socket, replicas: Sequence[Replica], *, patience: float, end_seconds: float
    ) -> None:
        self._listener = listener
        self._replicas = replicas
        self._patience = patience
        self._end_seconds = end_seconds
        self._ending = asyncio.Event()
        self._begun: set[int] = set()
        self._all_have_begun = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serves until the process is told to end, by SIGTERM or SIGINT.

        Raises:
            StartFailed: A worker process cannot be started.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ending.set)
        self._listener.settimeout(0)
        keeping = [loop.create_task(self._keep(replica)) for replica in self._replicas]
        accepting = loop.create_task(self._accept())
        ending = loop.create_task(self._ending.wait())
        try:
            await asyncio.wait((*keeping, accepting, ending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._ending.set()
            accepting.cancel()
            self._listener.close()
            for task in list(self._tasks):
                task.cancel()
            await self._end(keeping)
        for task in keeping:
            task.result()

    async def _end(self, keeping: Sequence[asyncio.Task[None]]) -> None:
        for replica in self._replicas:
            replica.end()
        _, late = await asyncio.wait(keeping, timeout=self._end_seconds)
        for replica in self._replicas:
            replica.end(asyncio.subprocess.Process.kill)
        if late:
            await asyncio.wait(late)

    async def _keep(self, replica: Replica) -> None:
        """Runs a worker process, and another one whenever it has ended."""
        while not self._ending.is_set():
            running = asyncio.create_task(replica.run())
            has_begun = await self._has_begun(replica, running)
            if has_begun:
                self._note_begun(replica)
            code = await running
            if self._ending.is_set():
                return
            if replica.index not in self._begun:
                raise StartFailed(f"A worker process ended with {code} before it served.")
            logger.error("Worker process %d ended with %d, its sessions with it. Restarting.", replica.index, code)
            with suppress(TimeoutError):
                async with asyncio.timeout(_RESTART_PAUSE):
                    await self._ending.wait()

    def _note_begun(self, replica: Replica) -> None:
        self._begun.add(replica.index)
        if len(self._begun) == len(self._replicas):
            self._all_have_begun.set()

    @staticmethod
    async def _has_begun(replica: Replica, running: asyncio.Task[int]) -> bool:
        while not running.done():
            if replica.is_ready:
                return True
            await asyncio.wait({running}, timeout=_PAUSES[1] / 4)
        return False

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        await self._all_have_begun.wait()
        self._listener.listen(_BACKLOG)
        logger.info("Uvicorn running on %s (Press CTRL+C to quit)", _address_of(self._listener))
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                logger.error("No connection can be accepted now: %s", error)
                await asyncio.sleep(_PAUSES[1])
                continue
            self._start(self._place(connection))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _place(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, TimeoutError):
            async with asyncio.timeout(self._patience):
                head = await _peek(connection)
            if head is None:
                return
            if head.method == "GET" and head.path in MERGED:
                await self._answer(connection, head)
                return
            async with asyncio.timeout(_START_SECONDS):
                while not self._given(connection, head.worker):
                    await asyncio.sleep(_PAUSES[1] / 4)

    def _given(self, connection: socket.socket, worker: int | None) -> bool:
        named = [replica for replica in self._replicas if replica.index == worker]
        # Ids that no worker process has made are refused by any of them.
        ready = [replica for replica in named or self._replicas if replica.is_ready]
        return any(replica.give(connection) for replica in sorted(ready, key=lambda replica: replica.burden))

    async def _answer(self, connection: socket.socket, head: Head) -> None:
        loop = asyncio.get_running_loop()
        request = await loop.sock_recv(connection, head.size)
        answers = await asyncio.gather(*(_asked(replica, request) for replica in self._replicas))
        await loop.sock_sendall(connection, merged(head.path, answers))
        connection.shutdown(socket.SHUT_WR)


def _address_of(listener: socket.socket) -> str:
    if listener.family not in (socket.AF_INET, socket.AF_INET6):
        return str(listener.getsockname())
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if listener.family == socket.AF_INET6 else f"http://{host}:{port}"


async def _peek(connection: socket.socket) -> Head | None:
    """The head of a connection's first request; None when the client ends it before."""
    connection.settimeout(0)
    await _readable(connection)
    pause, longest = _PAUSES
    while peeked := connection.recv(PEEK_BYTES, socket.MSG_PEEK):
        head = read_head(peeked)
        if head is not None:
            return head
        await asyncio.sleep(pause)  # it stays readable, whether more has come or not
        pause = min(2 * pause, longest)
    return None


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    is_readable = asyncio.Event()
    descriptor = connection.fileno()
    loop.add_reader(descriptor, is_readable.set)
    try:
        await is_readable.wait()
    finally:
        loop.remove_reader(descriptor)


async def _asked(replica: Replica, request: bytes) -> Answer | None:
    """What a worker process answers to a request, over a connection that the router makes for it."""
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    with ours, suppress(OSError, TimeoutError):
        with theirs:
            if not replica.give(theirs):
                return None
        ours.settimeout(0)
        raw = b""
        async with asyncio.timeout(_ANSWER_SECONDS):
            await loop.sock_sendall(ours, request)
            while chunk := await loop.sock_recv(ours, 65536):
                raw += chunk
        return read_answer(raw)
    return None
