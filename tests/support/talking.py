"""A peer whose every byte the test decides, and a connection to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from openenv_gym_protocol import errors
from openenv_gym_protocol.websocket_frames import FrameReader
from websockets.server import ServerProtocol
from websockets.utils import apply_mask

from openenv_gym.transports.base import Connection, ConnectionOptions
from openenv_gym.transports.websocket import open_websocket

PATIENCE = 20.0
"""Seconds after which something that should have happened is taken as not happening."""

Said = list[Any]
Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


class Hearing:
    """A listener that keeps what it is told.

    Attributes:
        told: Frames, and the error at the end.
    """

    def __init__(self) -> None:
        self.told: asyncio.Queue[Any] = asyncio.Queue()

    def frame_received(self, each: str | bytes) -> None:
        """Takes a frame."""
        self.told.put_nowait(each)

    def connection_lost(self, error: errors.OpenEnvGymError) -> None:
        """Takes the end."""
        self.told.put_nowait(error)


def talk(peer: Peer, body: Callable[[Connection, asyncio.Queue[Any]], Awaitable[None]], **options: Any) -> None:
    """Opens a connection to a peer, which gets the response that accepts it and sends it as it likes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        protocol = ServerProtocol()
        protocol.receive_data(await reader.readuntil(b"\r\n\r\n"))
        (request,) = protocol.events_received()
        protocol.send_response(protocol.accept(request))  # type: ignore[arg-type]  # the first event
        try:
            await peer(reader, writer, b"".join(protocol.data_to_send()))
        finally:
            writer.close()

    async def main() -> None:
        async with asyncio.timeout(PATIENCE):
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            async with server:
                port = server.sockets[0].getsockname()[1]
                hearing = Hearing()
                url = f"ws://127.0.0.1:{port}/ws"
                connection = await open_websocket(url, ConnectionOptions(**options), hearing)
                try:
                    await body(connection, hearing.told)
                finally:
                    await connection.close()

    asyncio.run(main())


async def heard(reader: asyncio.StreamReader, frames: FrameReader, count: int) -> Said:
    """The next events of the client."""
    said: Said = []
    while len(said) < count:
        said += frames.feed(await reader.read(65536))
    return said


def of_client() -> FrameReader:
    """Reads what a client sends."""
    return FrameReader(2**20, apply_mask)
