"""A WebSocket over ASGI: the way of every server, and of uvicorn where its transport cannot be had."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from openenv_gym_server.asgi import ABNORMAL, NO_STATUS, Receive, Send, ended, frame_of
from openenv_gym_server.sockets.base import Conversation


class AsgiSocket:
    """An accepted connection.

    Args:
        receive: ASGI's.
        send: ASGI's.

    Attributes:
        close_code: With which the client ended the connection.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self.close_code: int | None = None
        self._receive = receive
        self._send = send
        self._outbox: asyncio.Queue[str | bytes | int] = asyncio.Queue()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._is_gone = False

    def send(self, frame: str | bytes) -> None:
        """Sends a frame, after those before it."""
        self._outbox.put_nowait(frame)

    def close(self, code: int) -> None:
        """Closes the socket after the frames before it."""
        self._outbox.put_nowait(code)

    def settle(self) -> None:
        """Does nothing: the server closes the connection."""

    def pause_reading(self) -> None:
        """Reads no further."""
        self._may_read.clear()

    def resume_reading(self) -> None:
        """Reads on."""
        self._may_read.set()

    def lend(self, when_ended: Callable[[], None]) -> None:
        """Lends nothing: the connection is the server's."""

    def take_back(self) -> None:
        """Does nothing: nothing is lent."""

    async def serve(self, conversation: Conversation) -> None:
        """Serves a conversation until either side closes."""
        reading = asyncio.ensure_future(self._read(conversation))
        writing = asyncio.ensure_future(self._write(conversation))
        try:
            await asyncio.wait((reading, writing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            conversation.end()
            await ended(reading)
            await conversation.finish()
            await ended(writing)

    async def _read(self, conversation: Conversation) -> None:
        while (message := await self._receive())["type"] == "websocket.receive":
            conversation.receive(frame_of(message))
            await self._may_read.wait()
        self.close_code = message.get("code", NO_STATUS)
        if self.close_code == NO_STATUS and "reason" not in message:
            self.close_code = ABNORMAL  # uvicorn's word for a connection that broke
        self._is_gone = True

    async def _write(self, conversation: Conversation) -> None:
        # A server may take it for a fault to be given frames for a client that it has said is gone.
        while isinstance(item := await self._outbox.get(), str | bytes) and not self._is_gone:
            await self._send({"type": "websocket.send", "text" if isinstance(item, str) else "bytes": item})
            conversation.sent(item)
        if not self._is_gone:
            await self._send({"type": "websocket.close", "code": item})
