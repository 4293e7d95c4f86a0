"""A server's socket over a transport of its own, what is said over it, and a client that follows the rules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, cast

from openenv_gym_server.sockets.direct import DirectSocket
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import Protocol, Side, State

from tests.support.certificates import Certificates

MAX_BYTES = 1_000_000
"""The largest message that the server's socket takes."""


class Noted:
    """A conversation that keeps what it gets."""

    def __init__(self) -> None:
        self.received: list[str | bytes] = []
        self.told_sent = 0
        self.ends = 0
        self.owes = False
        self.changed = asyncio.Event()

    def receive(self, frame: str | bytes) -> None:
        self.received.append(frame)
        self.changed.set()

    def sent(self, frame: str | bytes) -> None:
        self.told_sent += 1
        self.changed.set()

    def end(self) -> None:
        self.ends += 1
        self.changed.set()

    @property
    def is_busy(self) -> bool:
        return self.owes

    async def finish(self) -> None:
        self.changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.changed.clear()
            await self.changed.wait()


class Client:
    """The other end: websockets' rules over plain streams, which it reads only when told."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.rules = Protocol(Side.CLIENT, state=State.OPEN, max_size=None)
        self.events: list[Frame] = []

    def flush(self) -> None:
        self.writer.writelines(self.rules.data_to_send())

    async def frame(self) -> Frame | None:
        """The next frame, or None at the end."""
        while not self.events:
            data = await self.reader.read(65536)
            if not data:
                return None
            self.rules.receive_data(data)
            self.events += [event for event in self.rules.events_received() if isinstance(event, Frame)]
        return self.events.pop(0)

    async def close(self) -> Close | None:
        """Reads to the close frame."""
        while (frame := await self.frame()) is not None:
            if frame.opcode is Opcode.CLOSE:
                return Close.parse(bytes(frame.data))
        return None


class Scene:
    """A server's socket, its conversation and a client."""

    def __init__(self, server: DirectSocket, talk: Noted, client: Client, connections: set[object]) -> None:
        self.server, self.talk, self.client, self.connections = server, talk, client, connections
        self.serving = asyncio.ensure_future(server.serve(talk))


@asynccontextmanager
async def scene(
    ping_interval: float | None = None,
    ping_timeout: float | None = None,
    talk: Noted | None = None,
    tls: Certificates | None = None,
) -> AsyncIterator[Scene]:
    """Connects a client over TCP, for a conversation that only notes what it gets unless another is given."""
    accepted: asyncio.Future[asyncio.Transport] = asyncio.get_running_loop().create_future()

    class Accepted(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.set_result(cast(asyncio.Transport, transport))  # uvloop's is none by its class

    present, trust = (tls.present(), tls.trust()) if tls else (None, None)
    listener = await asyncio.get_running_loop().create_server(Accepted, "127.0.0.1", 0, ssl=present)
    reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname(), limit=1024, ssl=trust)
    connections: set[object] = set()
    server = DirectSocket(
        await accepted, connections, max_bytes=MAX_BYTES, ping_interval=ping_interval, ping_timeout=ping_timeout
    )
    whole = Scene(server, talk or Noted(), Client(reader, writer), connections)
    await asyncio.sleep(0)  # serving begins
    try:
        yield whole
        writer.close()
        await whole.serving
        assert whole.talk.ends == 1
        assert connections == set()
    finally:
        writer.close()
        listener.close()
        await listener.wait_closed()


Act = Callable[[], Coroutine[Any, Any, None]]
"""What happens in a scene."""

Play = Callable[[Act], None]
"""Runs it."""
