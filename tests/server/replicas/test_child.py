"""What a worker process tells the router of its connections."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from openenv_gym_server.replicas.child import ReplicaServer
from openenv_gym_server.replicas.replica import REPORT

from tests.support.apps.counting import app


def test_a_connection_that_is_being_accepted_counts_once() -> None:
    async def scene() -> None:
        ours, theirs = socket.socketpair()
        server_end, client_end = socket.socketpair()
        config = uvicorn.Config(app, lifespan="off", log_config=None)
        config.load()
        server = ReplicaServer(config, theirs, app.state.openenv_gym)
        server.lifespan = config.lifespan_class(config)
        seen: list[tuple[int, int]] = []

        def look() -> None:
            server._report()
            received, _, _, opened = REPORT.unpack(ours.recv(REPORT.size, socket.MSG_DONTWAIT))
            seen.append((received, opened))

        make = config.http_protocol_class

        class Looking(make):  # type: ignore[misc, valid-type]
            def connection_made(self, transport: asyncio.Transport) -> None:
                super().connection_made(transport)
                look()  # who accepts it goes on later

        config.http_protocol_class = Looking
        with ours, theirs, client_end:
            server._begin(server_end)
            await asyncio.wait(set(server._beginning))
            for connection in list(server.server_state.connections):
                connection.transport.abort()
        assert seen == [(1, 1)]

    asyncio.run(scene())
