"""Servers of lanes whose steps are taken on a lent line, and a client that knows what they have to answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.frames import Batch
from openenv_gym_server.vector.asking import LanesRequest
from websockets.frames import Frame, Opcode

from tests.support.servers import RunningServer, killed, running_server
from tests.support.vector_client import VectorSocket, server_faults, vector_socket

PATIENT = {"TEST_AWAKE": "60", "TEST_LENT": "0.5"}
"""The thread waits for the next step for as long as the event loop lets it; so no slow client ends it."""

FOREVER = {"TEST_AWAKE": "600", "TEST_LENT": "600"}
"""A line is lent until something other than the time ends that."""


class Client:
    """A client of some lanes, which counts their steps."""

    def __init__(self, socket: VectorSocket, count: int = 3) -> None:
        self.socket = socket
        self.lanes = socket.open(count)
        self.reset()

    def reset(self) -> None:
        """Starts the lanes' episodes."""
        self.socket.reset(self.lanes)
        self.count = 0

    def frame(self, kind: type[LanesRequest], **keys: Any) -> tuple[int, bytes]:
        """A request to all lanes, as it travels, and its id."""
        request_id = self.socket.next_id()
        message = codec.encode(kind(id=request_id, lanes=self.lanes, **keys))
        return request_id, Frame(Opcode.BINARY, message).serialize(mask=True)

    def actions(self, actions: Sequence[int]) -> Batch:
        """Actions as they are sent; the last is that of all the lanes after it."""
        filled = [*actions, *[actions[-1]] * (len(self.lanes) - len(actions))]
        return Batch(columns=[np.array(filled, np.int64).tobytes()])

    def send(self, *actions: int, **keys: Any) -> int:
        """Sends a step, and returns its id."""
        return self.socket.send(frames.Step, lanes=self.lanes, actions=self.actions(actions), **keys)

    def expect(self, request_id: int, *actions: int) -> None:
        """Reads the whole answer of a step, which has to be that of the next one."""
        self.count += 1
        seen = self.seen(request_id)
        filled = [*actions, *[actions[-1]] * (len(self.lanes) - len(actions))]
        assert seen == {lane: (action, self.count) for lane, action in zip(self.lanes, filled, strict=True)}

    def seen(self, request_id: int) -> dict[int, tuple[int, int]]:
        """What the lanes observe of a step."""
        seen: dict[int, tuple[int, int]] = {}
        for part in self.socket.parts(request_id):
            assert part.observations is not None, part
            assert part.observations.columns is not None
            rows = np.frombuffer(part.observations.columns[0], np.int64).reshape(-1, 2).tolist()
            seen |= {lane: (action, count) for lane, (action, count) in zip(part.lanes, rows, strict=True)}
        return seen

    def step(self, *actions: int, **keys: Any) -> None:
        """Takes a step, and looks at the answer."""
        self.expect(self.send(*actions, **keys), *actions)

    def walk(self, steps: int = 3) -> None:
        """Takes steps that follow each other promptly."""
        for number in range(steps):
            self.step(number)

    def failures(self, request_id: int) -> dict[int, tuple[str, bool]]:
        """How lanes failed, and whether they are lost."""
        failures = [failure for part in self.socket.parts(request_id) for failure in part.failures]
        return {failure.lane: (failure.failure, failure.lost) for failure in failures if failure.lane is not None}

    def taken(self) -> int:
        """How many frames came through the event loop, with this question."""
        values: list[int] = self.socket.ask(frames.Call, lanes=self.lanes, name="taken").values
        return values[0]

    def taken_of(self, act: Callable[[], None]) -> int:
        """How many frames come through the event loop while something is done."""
        before = self.taken()
        act()
        return self.taken() - before - 1

    def counts(self) -> set[int]:
        """How many steps each lane says it took."""
        return {state["step_count"] for state in self.socket.ask(frames.State, lanes=self.lanes).values}


@contextmanager
def serving(kind: str, way: str, **environ: str) -> Iterator[RunningServer]:
    """A server, by whose log nothing goes wrong; what still hangs in it does not hold up its end."""
    environ = {"OPENENV_GYM_SPIN": "1" if way == "lent" else "0", **environ}
    with running_server(f"tests.support.apps.lent:{kind}", env=environ) as server:
        with killed(server):
            yield server
        assert server_faults(server) == []
        assert "by itself failed" not in server.log()


@contextmanager
def connected(server: RunningServer, count: int = 3) -> Iterator[Client]:
    """A client on a connection that can be lent."""
    with vector_socket(server.ws_url, compression=None) as socket:
        yield Client(socket, count)
