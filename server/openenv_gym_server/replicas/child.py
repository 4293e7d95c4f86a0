"""A worker process: uvicorn without a port, whose connections come from the router."""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.importer import import_from_string

from openenv_gym_server.config import ServerConfig
from openenv_gym_server.replicas.replica import REPORT
from openenv_gym_server.serve import uvicorn_options
from openenv_gym_server.service import Service

_SOON = (0.005, 0.02, 0.05)
"""Seconds after which a new connection may be over, or have its session: the next one's worker depends on that."""


class ReplicaServer(uvicorn.Server):
    """Serves the connections that it is handed.

    Args:
        config: Uvicorn's.
        channel: Where connections come from, and where the router is told how many there are; its end ends the server.
        service: The server's parts.
    """

    def __init__(self, config: uvicorn.Config, channel: socket.socket, service: Service) -> None:
        super().__init__(config)
        self._channel = channel
        self._service = service
        self._received = 0
        self._told: bytes = b""
        self._arriving: set[asyncio.Protocol] = set()
        self._beginning: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts, listening to the channel alone."""
        del sockets
        await super().startup(sockets=[])
        self._channel.settimeout(0)
        asyncio.get_running_loop().add_reader(self._channel, self._take)

    async def on_tick(self, counter: int) -> bool:
        """Tells the router what has changed; uvicorn calls it ten times a second."""
        self._report()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Takes no further connection and drains."""
        del sockets
        asyncio.get_running_loop().remove_reader(self._channel)
        self._channel.close()
        await super().shutdown(sockets=[])

    def _take(self) -> None:
        try:
            told, descriptors, _, _ = socket.recv_fds(self._channel, 1, 1)
        except BlockingIOError:
            return
        except OSError:
            told, descriptors = b"", []
        if not told:
            self.should_exit = True  # the router is no more
            asyncio.get_running_loop().remove_reader(self._channel)
            return
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # noqa: FBT003
            self._begin(socket.socket(fileno=descriptor))

    def _begin(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        make = self.config.http_protocol_class
        protocol = make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)  # type: ignore[call-arg]
        task = asyncio.get_running_loop().create_task(self._accepted(protocol, connection))
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _accepted(self, protocol: asyncio.Protocol, connection: socket.socket) -> None:
        self._arriving.add(protocol)
        with suppress(OSError):  # the client has gone
            await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, connection)
        self._arriving.discard(protocol)
        self._received += 1  # from now on it is one of the open ones, or it has been
        for seconds in _SOON:
            asyncio.get_running_loop().call_later(seconds, self._report)

    def _report(self) -> None:
        capacity = self._service.sessions.capacity
        connections = self.server_state.connections
        # One that is open is served, though who accepts it was not told so yet: it would count twice.
        received = self._received + len(self._arriving & connections)
        counts = (received, capacity.taken, capacity.slots, len(connections))
        told = REPORT.pack(*counts)
        if told != self._told:
            with suppress(OSError):  # told again at the next tick
                self._channel.send(told)
                self._told = told


def main() -> None:
    """Serves one worker process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("app")
    parser.add_argument("--channel", type=int, required=True)
    parser.add_argument("--path", required=True)
    options = parser.parse_args()
    if options.path not in sys.path:
        sys.path.insert(0, options.path)
    app = import_from_string(options.app)
    config = uvicorn.Config(app, **uvicorn_options(ServerConfig.from_environ(), keeps_alive=False))
    ReplicaServer(config, socket.socket(fileno=options.channel), app.state.openenv_gym).run()


if __name__ == "__main__":
    main()
