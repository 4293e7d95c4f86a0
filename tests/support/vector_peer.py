"""A server of the vector wire that says what a test tells it to say."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.array_data import DTYPES

from tests.support.scripted_server import Session

SCHEMA: dict[str, Any] = {
    "action": {"type": "object", "properties": {"value": {"type": "integer", "minimum": 0, "maximum": 9}}},
    "observation": {"type": "object", "properties": {"value": {"type": "integer", "minimum": 0, "maximum": 99}}},
    "state": {"type": "object"},
}
"""What ``/schema`` says: one integer each way."""

HTTP = {"/schema": (200, SCHEMA)}

Script = Callable[["Peer"], Awaitable[None]]


class Peer:
    """One connection, as the script sees it.

    Attributes:
        session: The connection below.
        requests: Every request that came, in its order.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.requests: list[frames.Request] = []

    async def receive(self) -> frames.Request:
        """The client's next request."""
        frame = await self.session.socket.recv()
        self.requests.append(codec.decode_request(frame))
        return self.requests[-1]

    async def send(self, reply: frames.Reply) -> None:
        """Sends a reply."""
        await self.session.socket.send(codec.encode(reply))

    async def welcome(self, *, first_lane: int = 0, **said: Any) -> frames.Open:
        """Answers hello and the first open; see ``opened``."""
        hello = await self.receive()
        await self.send(
            frames.Welcome(
                id=hello.id,
                server="peer",
                max_frame_bytes=10**7,
                max_lanes=100,
                max_depth=64,
                dtypes=list(DTYPES),
            )
        )
        request = await self.receive()
        assert isinstance(request, frames.Open)
        await self.opened(request, first_lane, **said)
        return request

    async def opened(self, request: frames.Open, first_lane: int = 0, **said: Any) -> None:
        """Answers open, with lanes from a number on and whatever else is said of them."""
        lanes = list(range(first_lane, first_lane + request.lanes))
        await self.send(frames.Opened(id=request.id, lanes=lanes, **said))

    async def rows(
        self, request: Any, values: dict[int, int], *, more: bool = False, failures: Sequence[frames.Failure] = ()
    ) -> None:
        """Answers lanes of a reset or step with a value each; of a step, with a reward of ten times that."""
        factor = 10.0 if isinstance(request, frames.Step) else 0.0
        await self.send(
            frames.Rows(
                id=request.id,
                lanes=list(values),
                observations=frames.Batch(values=[{"value": value} for value in values.values()]) if values else None,
                rewards=struct.pack(f"<{len(values)}d", *[factor * value for value in values.values()]),
                flags=bytes(len(values)),
                failures=list(failures),
                more=more,
            )
        )


def scripted(script: Script) -> Callable[[Session], Awaitable[None]]:
    """A script for ``scripted_server``."""

    async def run(session: Session) -> None:
        await script(Peer(session))

    return run
