"""A plain client of the vector wire, for tests that look at frames: websockets and the protocol's codec."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.columns import unpack_reward
from openenv_gym_protocol.vector.frames import SUBPROTOCOL, Batch, Failure, Refused, Reply, Request, Rows
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.support.servers import RunningServer

SECONDS = 30.0
"""How long a reply may take before a test fails."""


class VectorSocket:
    """One connection; what it reads is kept by the id that it answers.

    Attributes:
        connection: The connection.
        received: How many frames of the link came on it.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.received = 0
        self._kept: dict[int, list[Reply]] = {}
        self._last = 0

    def next_id(self) -> int:
        """An id that was not used yet."""
        self._last += 1
        return self._last

    def send(self, kind: type[Request], **keys: Any) -> int:
        """Sends a request and returns its id."""
        request_id = self.next_id()
        self.connection.send(codec.encode(kind(id=request_id, **keys)))
        return request_id

    def send_raw(self, frame: str | bytes) -> None:
        """Sends a frame as it is."""
        self.connection.send(frame)

    def receive(self, request_id: int, seconds: float = SECONDS) -> Reply:
        """The next reply to a request; replies to others are kept for later."""
        give_up = time.monotonic() + seconds
        while not self._kept.get(request_id):
            frame = self.connection.recv(timeout=max(give_up - time.monotonic(), 0.001))
            assert isinstance(frame, bytes)
            reply = codec.decode_reply(frame)
            self.received += not isinstance(reply, frames.Welcome | frames.Resumed)
            self._kept.setdefault(reply.id, []).append(reply)
        return self._kept[request_id].pop(0)

    def parts(self, request_id: int, seconds: float = SECONDS) -> list[Rows]:
        """All parts of the reply to a reset or step."""
        parts: list[Rows] = []
        while not parts or parts[-1].more:
            reply = self.receive(request_id, seconds)
            assert isinstance(reply, Rows), reply
            parts.append(reply)
        return parts

    def ask(self, kind: type[Request], **keys: Any) -> Any:
        """Sends a request that one reply answers, and returns it."""
        return self.receive(self.send(kind, **keys))

    def refusal(self, kind: type[Request], **keys: Any) -> Failure:
        """Sends a request that has to be refused, and returns why it was."""
        reply = self.ask(kind, **keys)
        assert isinstance(reply, Refused), reply
        return reply.failure

    def hello(self, max_frame_bytes: int = 2**24, *, resume: bool = False) -> frames.Welcome:
        """Greets the server."""
        welcome = self.ask(frames.Hello, client="tests", max_frame_bytes=max_frame_bytes, resume=resume)
        assert isinstance(welcome, frames.Welcome), welcome
        return welcome

    def open(self, count: int, **keys: Any) -> list[int]:
        """Opens lanes and returns their numbers."""
        opened = self.ask(frames.Open, lanes=count, **keys)
        assert isinstance(opened, frames.Opened), opened
        return opened.lanes

    def reset(self, lanes: Sequence[int], **keys: Any) -> Table:
        """Resets lanes and returns all rows."""
        return Table(self.parts(self.send(frames.Reset, lanes=list(lanes), **keys)))

    def step(self, lanes: Sequence[int], actions: Sequence[Any], **keys: Any) -> Table:
        """Steps lanes with values as actions and returns all rows."""
        batch = Batch(values=list(actions))
        return Table(self.parts(self.send(frames.Step, lanes=list(lanes), actions=batch, **keys)))

    def resume(self, link: str, epoch: int = 1, ack: int = 0) -> int:
        """Goes on with a link, and returns how many of its frames the server has."""
        resumed = self.ask(frames.Resume, link=link, epoch=epoch, ack=ack)
        assert isinstance(resumed, frames.Resumed), resumed
        return resumed.received

    def tear(self) -> None:
        """Ends the connection without a goodbye."""
        self.connection.socket.shutdown(socket.SHUT_RDWR)

    def close_code(self) -> int | None:
        """Waits until the server closes, and returns its code."""
        try:
            while True:
                self.connection.recv(timeout=SECONDS)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None


class Table:
    """The rows of a reply by lane, whatever the parts and the order they came in."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        self.parts = parts
        self.values: dict[int, Any] = {}
        self.rewards: dict[int, float] = {}
        self.flags: dict[int, int] = {}
        self.infos: dict[int, dict[str, Any]] = {}
        self.finals: dict[int, Any] = {}
        self.final_infos: dict[int, dict[str, Any]] = {}
        self.failures: dict[int, Failure] = {}
        for part in parts:
            self._add(part)

    def _add(self, part: Rows) -> None:
        lanes = part.lanes
        assert not set(lanes) & self.flags.keys()
        self.flags |= dict(zip(lanes, part.flags, strict=True))
        self.rewards |= {lane: unpack_reward(part.rewards, row) for row, lane in enumerate(lanes)}
        self.infos |= dict(zip(lanes, part.infos or [{}] * len(lanes), strict=True))
        if part.observations is not None and part.observations.values is not None:
            self.values |= dict(zip(lanes, part.observations.values, strict=True))
        if part.final is not None:
            final_lanes = [lanes[row] for row in part.final.rows]
            self.finals |= dict(zip(final_lanes, part.final.observations.values or [None] * len(lanes), strict=False))
            self.final_infos |= dict(zip(final_lanes, part.final.infos or [{}] * len(final_lanes), strict=True))
        for failure in part.failures:
            assert failure.lane is not None
            self.failures[failure.lane] = failure


def server_faults(server: RunningServer) -> list[str]:
    """The lines of a server's log that tell of a fault of its own rather than of an environment's."""
    signs = ("fault of the server", "was not guarded", "never awaited", "never retrieved", "Exception in ASGI")
    return [line for line in server.log().splitlines() if any(sign in line for sign in signs)]


@contextmanager
def vector_socket(url: str, *, greet: bool = True, **options: Any) -> Iterator[VectorSocket]:
    """Connects to a server's ``/ws``, offering the vector wire, and greets the server."""
    options = {"max_size": None, "proxy": None, "open_timeout": SECONDS, **options}
    with connect(url, subprotocols=[SUBPROTOCOL], **options) as connection:  # type: ignore[list-item]
        assert connection.subprotocol == SUBPROTOCOL
        socket = VectorSocket(connection)
        if greet:
            socket.hello()
        yield socket
