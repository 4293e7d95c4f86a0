from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from openenv_gym_server import create_app
from openenv_gym_server.sockets.direct import DirectSocket
from starlette.applications import Starlette
from starlette.routing import Mount
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support.apps import counting
from tests.support.loops import run_on

PATIENCE = 30.0


class Wrapping:
    """A middleware that stands between the server and the application.

    Args:
        app: What it wraps.
        receive: It wraps what the application receives by.
        send: It wraps what the application sends by.
    """

    def __init__(self, app: Any, *, receive: bool = False, send: bool = False) -> None:
        self.app = app
        self.wraps = receive, send

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def received() -> Any:
            return await receive()

        async def sent(message: Any) -> None:
            await send(message)

        await self.app(scope, received if self.wraps[0] else receive, sent if self.wraps[1] else send)


class Derived(WebSocketsSansIOProtocol):
    """A protocol that is not uvicorn's own."""


@asynccontextmanager
async def served(app: Any, **options: Any) -> AsyncIterator[uvicorn.Server]:
    """Runs uvicorn in this event loop, and ends it as a signal would."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, **options))
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield server
        finally:
            server.should_exit = True
            await serving
    assert server.server_state.connections == set()
    assert server.server_state.tasks == set()


def address(server: uvicorn.Server, path: str = "/ws") -> str:
    return f"ws://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}{path}"


def kinds(server: uvicorn.Server) -> set[type]:
    """What serves the open connections."""
    return {type(kept) for kept in server.server_state.connections}


async def plays(connection: ClientConnection) -> None:
    await connection.send('{"type":"reset","data":{"seed":3}}')
    assert '"seed":3' in str(await connection.recv())
    await connection.send('{"type":"step","data":{"add":2}}')
    assert '"reward":2.0' in str(await connection.recv())


def run(act: Any, *, uv: bool = True) -> None:
    run_on("uvloop" if uv else "asyncio", act, PATIENCE)


async def has_gone(server: uvicorn.Server) -> None:
    while server.server_state.connections or server.server_state.tasks:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("uv", [True, False])
@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_uvicorns_connections_are_taken_over_and_keep_its_books(uv: bool, http: str) -> None:
    async def act() -> None:
        async with served(counting.app, http=http) as server:
            async with connect(address(server), compression=None, proxy=None) as connection:
                await plays(connection)
                assert kinds(server) == {DirectSocket}
                assert len(server.server_state.tasks) == 1
            await has_gone(server)

    run(act(), uv=uv)


class Noting:
    """Stands in the application, and notes when the endpoint behind it has returned."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.returned = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)
        self.returned.set()


@pytest.mark.parametrize("path", ["/ws", "/mcp"])
def test_a_connection_that_was_taken_over_leaves_the_application_and_is_waited_for(path: str) -> None:
    app = create_app(counting.CountingEnvironment, counting.CountAction, counting.CountObservation)
    noting: Any = Noting(app.router)
    app.router = noting

    async def act() -> None:
        async with served(app) as server:
            async with connect(address(server, path), compression=None, proxy=None) as connection:
                await noting.returned.wait()
                assert kinds(server) == {DirectSocket}
                (task,) = server.server_state.tasks
                assert not task.done(), "the server waits for the connection when it ends"
                if path == "/ws":
                    await plays(connection)
            await has_gone(server)

    run(act())


def test_a_connection_that_stays_with_asgi_stays_in_the_application() -> None:
    app = create_app(counting.CountingEnvironment, counting.CountAction, counting.CountObservation)
    noting: Any = Noting(app.router)
    app.router = noting

    async def act() -> None:
        async with served(app) as server:
            async with connect(address(server), compression="deflate", proxy=None) as connection:
                await plays(connection)
                assert not noting.returned.is_set()
            await has_gone(server)
        assert noting.returned.is_set()

    run(act())


def test_the_token_is_asked_for_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENENV_GYM_TOKEN", "secret")
    app = create_app(counting.CountingEnvironment, counting.CountAction, counting.CountObservation)

    async def act() -> None:
        async with served(app) as server:
            with pytest.raises(Exception, match="403"):
                await connect(address(server), compression=None, proxy=None)
            headers = {"Authorization": "Bearer secret"}
            async with connect(address(server), compression=None, proxy=None, additional_headers=headers) as connection:
                await plays(connection)
                assert kinds(server) == {DirectSocket}

    run(act())


@pytest.mark.parametrize(
    ("make_app", "path", "options", "compression"),
    [
        pytest.param(lambda: counting.app, "/ws", {}, "deflate", id="compressed"),
        pytest.param(lambda: Wrapping(counting.app, receive=True), "/ws", {}, None, id="receive is wrapped"),
        pytest.param(lambda: Wrapping(counting.app, send=True), "/ws", {}, None, id="send is wrapped"),
        pytest.param(lambda: Starlette(routes=[Mount("/env", counting.app)]), "/env/ws", {}, None, id="mounted"),
        pytest.param(lambda: counting.app, "/ws", {"ws": Derived}, None, id="another protocol"),
        pytest.param(lambda: counting.app, "/ws", {"log_level": "trace"}, None, id="traced"),
    ],
)
def test_whatever_stands_between_keeps_a_connection_with_asgi(
    make_app: Callable[[], Any], path: str, options: dict[str, Any], compression: str | None
) -> None:
    async def act() -> None:
        async with served(make_app(), **options) as server:
            async with connect(address(server, path), compression=compression, proxy=None) as connection:
                await plays(connection)
                assert len(kinds(server)) == 1
                assert DirectSocket not in kinds(server)
            await has_gone(server)

    run(act())


def test_an_ending_server_closes_what_it_took_over() -> None:
    async def act() -> None:
        async with served(counting.app) as server:
            connection = await connect(address(server), compression=None, proxy=None)
            await plays(connection)
        with pytest.raises(ConnectionClosed) as caught:
            await connection.recv()
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1012

    run(act())


def test_a_server_that_waits_no_longer_cuts_the_connection() -> None:
    async def act() -> None:
        async with served(counting.app, timeout_graceful_shutdown=0) as server:
            connection = await connect(address(server), compression=None, proxy=None)
            await plays(connection)
        with pytest.raises(ConnectionClosed):
            await connection.recv()

    run(act())


def test_uvicorns_own_limits_hold() -> None:
    async def act() -> None:
        options = {"ws_max_size": 1000, "ws_ping_interval": 0.05, "ws_ping_timeout": 1.0}
        async with served(counting.app, **options) as server:
            async with connect(address(server), compression=None, proxy=None) as connection:
                await plays(connection)
                await connection.send("x" * 1001)
                with pytest.raises(ConnectionClosed) as caught:
                    await connection.recv()
                assert caught.value.rcvd is not None
                assert caught.value.rcvd.code == 1009
            silent = await asyncio.open_connection(*server.servers[0].sockets[0].getsockname())
            silent[1].write(
                b"GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            )
            assert b"keepalive ping timeout" in await silent[0].read()
            silent[1].close()
            await has_gone(server)

    run(act())
