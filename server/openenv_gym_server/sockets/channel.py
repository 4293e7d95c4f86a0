"""ASGI's ``receive`` and ``send`` over a socket that was taken over, for conversations that are written with them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from openenv_gym_server.asgi import NORMAL, Message, Receive, Send
from openenv_gym_server.sockets.direct import DirectSocket

_MAX_WAITING = 64
"""Messages that may wait to be received before the socket is read no further."""


class Talk(Protocol):
    """What is written for ASGI."""

    @property
    def is_busy(self) -> bool:
        """Answers are still to come."""

    async def run(self) -> None:
        """Talks to the end."""


async def talk_over(socket: DirectSocket, make: Callable[[Receive, Send], Talk], *, max_waiting_bytes: int) -> None:
    """Serves an accepted connection by something that is written for ASGI, to the end of both.

    Args:
        socket: The connection.
        make: Makes what talks, of ASGI's ``receive`` and ``send``.
        max_waiting_bytes: How many bytes may wait to be received before the socket is read no further.
    """
    channel = Channel(socket, max_waiting_bytes)
    socket.begin(channel)
    try:
        channel.talk = make(channel.receive_message, channel.send_message)
        await channel.talk.run()
    except BaseException:
        socket.abort()
        raise
    socket.close(NORMAL)
    await socket.wait()


class Channel:
    """A conversation that does nothing but wait for whoever calls ``receive`` and ``send``.

    Args:
        socket: What it is held over.
        max_waiting_bytes: How many bytes may wait before the socket is read no further.

    Attributes:
        talk: Who that is, once it is there.
    """

    def __init__(self, socket: DirectSocket, max_waiting_bytes: int) -> None:
        self.talk: Talk | None = None
        self._socket = socket
        self._max_waiting_bytes = max_waiting_bytes
        self._waiting: deque[str | bytes] = deque()
        self._waiting_bytes = 0
        self._is_paused = False
        self._unsent = 0
        self._changed: asyncio.Future[None] | None = None
        self._sent: asyncio.Future[None] | None = None

    async def receive_message(self) -> Message:
        """ASGI's ``receive``."""
        while not self._waiting and self._socket.close_code is None:
            self._changed = asyncio.get_running_loop().create_future()
            await self._changed
        if not self._waiting:
            return {"type": "websocket.disconnect", "code": self._socket.close_code}
        frame = self._waiting.popleft()
        self._waiting_bytes -= len(frame)
        if self._is_paused and not self._is_full():
            self._is_paused = False
            self._socket.resume_reading()
        return {"type": "websocket.receive", "text" if isinstance(frame, str) else "bytes": frame}

    async def send_message(self, message: Message) -> None:
        """ASGI's ``send``: it waits while the client reads slower than it is written to.

        Raises:
            OSError: The connection is closed.
        """
        if self._socket.close_code is not None:
            raise ConnectionError("The connection is closed.")
        if message["type"] == "websocket.close":
            self._socket.close(message.get("code", NORMAL))
            return
        text = message.get("text")
        self._unsent += 1
        self._socket.send(message["bytes"] if text is None else text)
        while self._unsent and self._socket.close_code is None:
            self._sent = asyncio.get_running_loop().create_future()
            await self._sent

    def receive(self, frame: str | bytes) -> None:
        """Keeps a frame until it is asked for."""
        self._waiting.append(frame)
        self._waiting_bytes += len(frame)
        if not self._is_paused and self._is_full():
            self._is_paused = True
            self._socket.pause_reading()
        _wake(self._changed)

    def sent(self, frame: str | bytes) -> None:
        """Lets the next frame follow."""
        del frame
        self._unsent -= 1
        _wake(self._sent)

    @property
    def is_busy(self) -> bool:
        """Answers are still to come."""
        return bool(self._waiting) or self._unsent > 0 or (self.talk is not None and self.talk.is_busy)

    def end(self) -> None:
        """Tells whoever waits."""
        _wake(self._changed)
        _wake(self._sent)

    async def finish(self) -> None:
        """Has nothing under way."""

    def _is_full(self) -> bool:
        return len(self._waiting) >= _MAX_WAITING or self._waiting_bytes >= self._max_waiting_bytes


def _wake(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
