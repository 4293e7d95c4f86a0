"""A network that breaks: a TCP proxy in a thread, whose faults are drawn from a seed."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

SECONDS = 20.0

FAULTS = ("cut", "truncate", "half_close", "client_side", "server_side", "late", "delay")
"""What befalls a connection once it has carried its bytes:

- ``cut``: both sides end at once;
- ``truncate``: half of what is under way arrives, then both sides end;
- ``half_close``: the one direction ends, the other goes on for a moment;
- ``client_side``, ``server_side``: only that side ends, and the other end hears of it much later;
- ``late``: the client's side ends, and what was under way arrives later still;
- ``delay``: everything goes on, a moment later.
"""


class BrokenNetwork:
    """The proxy. What it does to connections is told by ``mean_bytes`` from then on.

    Args:
        target: The base URL of the server behind.
        seed: Of the faults.

    Attributes:
        mean_bytes: How much a connection carries until its fault, on average; 0 for no faults.
        faults: How many of each there were.
        connections: How many were opened.
        is_down: New connections are ended at once.
    """

    def __init__(self, target: str, seed: int = 0) -> None:
        self.lead_to(target)
        self._random = random.Random(seed)
        self._pipes: set[_Pipe] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="broken network", daemon=True)
        self.mean_bytes = 0
        self.faults: Counter[str] = Counter()
        self.connections = 0
        self.is_down = False
        self.base_url = ""

    def lead_to(self, target: str) -> None:
        """Leads new connections to a server."""
        parts = urlsplit(target)
        self._target = (parts.hostname, parts.port)

    def start(self) -> None:
        """Listens."""
        self._thread.start()
        assert self._ready.wait(SECONDS)

    def stop(self) -> None:
        """Ends all connections."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def cut(self) -> int:
        """Ends all connections on both sides, and returns how many there were."""
        return self._on_each(_Pipe.abort)

    def cut_client_sides(self) -> int:
        """Ends the clients' sides of all connections: the server goes on believing in them."""
        return self._on_each(lambda pipe: pipe.client.transport.abort())

    def draw(self) -> tuple[str, float]:
        """A fault, and after how many bytes it comes."""
        if not self.mean_bytes:
            return "", float("inf")
        return self._random.choice(FAULTS), self._random.expovariate(1 / self.mean_bytes)

    def moment(self) -> float:
        """A short time, in seconds."""
        return self._random.uniform(0.0, 0.05)

    def _on_each(self, work: Callable[[_Pipe], None]) -> int:
        async def call() -> int:
            pipes = list(self._pipes)
            for pipe in pipes:
                work(pipe)
            return len(pipes)

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(SECONDS)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._end.wait()
        server.close()
        for pipe in list(self._pipes):
            pipe.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SECONDS)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        if self.is_down:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        pipe = _Pipe(self, writer, far_writer)
        self._pipes.add(pipe)
        try:
            await asyncio.gather(pipe.carry(reader, far_writer), pipe.carry(far_reader, writer))
        finally:
            pipe.abort()
            self._pipes.discard(pipe)


class _Pipe:
    """One connection and its fault."""

    def __init__(self, network: BrokenNetwork, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server
        self._network = network
        self._mean_bytes = 0
        self._fault, self._left = "", float("inf")

    def abort(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                if self._network.mean_bytes != self._mean_bytes:
                    self._mean_bytes = self._network.mean_bytes
                    self._fault, self._left = self._network.draw()
                self._left -= len(data)
                if self._left < 0 and not await self._breaks(data, writer):
                    return
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except OSError:
            self.abort()  # what broke on the one side does on the other

    async def _breaks(self, data: bytes, writer: asyncio.StreamWriter) -> bool:
        """Has the fault happen, and returns whether the data is to be carried on."""
        network, fault = self._network, self._fault
        network.faults[fault] += 1
        self._fault, self._left = network.draw()
        if fault == "delay":
            await asyncio.sleep(network.moment())
            return True
        if fault == "truncate":
            writer.write(data[: len(data) // 2])
            with suppress(OSError):
                await writer.drain()
            self.client.close()
            self.server.close()
        elif fault == "half_close":
            writer.write_eof()
            await asyncio.sleep(network.moment())
        elif fault == "client_side":
            self.client.transport.abort()
            await asyncio.sleep(10 * network.moment())
        elif fault == "server_side":
            self.server.transport.abort()
            await asyncio.sleep(2 * network.moment())
        elif fault == "late":
            self.client.transport.abort()
            await asyncio.sleep(4 * network.moment())
            if writer is self.server:
                writer.write(data)
                with suppress(OSError):
                    await writer.drain()
                self.server.close()
                return False
        self.abort()
        return False


@contextmanager
def broken_network(target: str, seed: int = 0) -> Iterator[BrokenNetwork]:
    """A network before a server, which works until it is told to break."""
    network = BrokenNetwork(target, seed)
    network.start()
    try:
        yield network
    finally:
        network.stop()
