"""A WebSocket server that says what a test tells it to say, however wrong."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

PATIENCE = 20.0
"""Seconds after which something that should have happened is taken as not happening."""


class Session:
    """One connection, as the script sees it.

    Attributes:
        number: 0 for the server's first connection, 1 for the second, and so on.
        socket: The connection itself, for what has no method here.
    """

    def __init__(self, server: ScriptedServer, number: int, socket: ServerConnection) -> None:
        self._server = server
        self.number = number
        self.socket = socket

    async def receive(self) -> dict[str, Any]:
        """The client's next message."""
        message: dict[str, Any] = json.loads(await self.socket.recv())
        self._server.note(self.number, message)
        return message

    async def send(self, message: Any) -> None:
        """Sends a value as JSON."""
        await self.socket.send(json.dumps(message))

    async def observe(self, value: Any, *, reward: Any = 0.0, done: bool = False) -> None:
        """Answers a reset or step with an observation of one field, ``value``."""
        await self.send(observation(value, reward=reward, done=done))

    async def refuse(self, message: str, code: str, **more: Any) -> None:
        """Sends an error frame."""
        await self.send({"type": "error", "data": {"message": message, "code": code, **more}})

    async def echo(self) -> None:
        """Answers every message with what it carried, until the client leaves."""
        while True:
            message = await self.receive()
            if message["type"] == "close":
                return
            if message["type"] == "state":
                await self.send({"type": "state", "data": {"episode_id": "e", "step_count": 0}})
            else:
                await self.observe(message["data"])

    def send_together(self, *messages: Any) -> None:
        """Sends several values so that they arrive at once."""
        for message in messages:
            self.socket.protocol.send_text(json.dumps(message).encode())
        self.socket.transport.write(b"".join(self.socket.protocol.data_to_send()))

    def die(self) -> None:
        """Drops the connection without a goodbye, as a killed process does."""
        self.socket.transport.abort()


Script = Callable[[Session], Awaitable[None]]


class ScriptedServer:
    """The running server.

    Attributes:
        base_url: Its address.
        received: Every message of every session, with the session's number.
        sessions: How many connections were opened.
        requests: The handshakes and HTTP requests, with their paths and headers.
    """

    def __init__(self, script: Script, http: Mapping[str, tuple[int, Any]]) -> None:
        self._script = script
        self._http = http
        self._changed = threading.Condition()
        self.base_url = ""
        self.received: list[tuple[int, dict[str, Any]]] = []
        self.sessions = 0
        self.ended = 0
        self.requests: list[Request] = []

    def note(self, number: int, message: dict[str, Any]) -> None:
        """Keeps a message that came."""
        with self._changed:
            self.received.append((number, message))
            self._changed.notify_all()

    def wait_until(self, condition: Callable[[ScriptedServer], bool]) -> None:
        """Waits until something came or a session began or ended so that the condition holds."""
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self), PATIENCE), "it never happened"

    def all_received(self) -> list[tuple[int, dict[str, Any]]]:
        """Every message, once all sessions have ended: the last may come just after the client's ``close()``."""
        self.wait_until(lambda server: server.ended == server.sessions)
        return self.received

    async def handle(self, socket: ServerConnection) -> None:
        with self._changed:
            session = Session(self, self.sessions, socket)
            self.sessions += 1
            self._changed.notify_all()
        try:
            await self._script(session)
        except ConnectionClosed:
            pass  # the client left, as it may at any time
        finally:
            with self._changed:
                self.ended += 1
                self._changed.notify_all()

    def answer_http(self, _: ServerConnection, request: Request) -> Response | None:
        self.requests.append(request)
        path = request.path.partition("?")[0]
        if path == "/ws" and path not in self._http:
            return None
        status, body = self._http.get(path, (404, {"detail": "Not Found"}))
        headers = Headers({"Content-Type": "application/json", "Connection": "close"})
        if isinstance(body, Mapping) and "Location" in body:
            headers["Location"] = body["Location"]
        text = body if isinstance(body, str) else json.dumps(body)
        return Response(status, HTTPStatus(status).phrase, headers, text.encode())


def observation(value: Any, *, reward: Any = 0.0, done: bool = False) -> dict[str, Any]:
    """An observation frame with one field, ``value``."""
    data = {"observation": {"value": value, "metadata": {}}, "reward": reward, "done": done}
    return {"type": "observation", "data": data}


@contextmanager
def scripted_server(
    script: Script = Session.echo, *, http: Mapping[str, tuple[int, Any]] | None = None, **options: Any
) -> Iterator[ScriptedServer]:
    """Runs a server on a thread of its own.

    Args:
        script: What each session does; it ends the connection by returning.
        http: Status and body of plain HTTP routes; an entry for ``/ws`` answers the handshake.
        **options: Further arguments of ``websockets.asyncio.server.serve``.
    """
    scripted = ScriptedServer(script, http or {})
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="scripted-server")
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(_start(scripted, options), loop).result(PATIENCE)
        host, port = server.sockets[0].getsockname()[:2]
        scripted.base_url = f"http://{host}:{port}"
        try:
            yield scripted
        finally:
            asyncio.run_coroutine_threadsafe(_stop(server), loop).result(PATIENCE)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()


async def _start(scripted: ScriptedServer, options: dict[str, Any]) -> Server:
    options = {"ping_interval": None, "close_timeout": 1, **options}
    return await serve(scripted.handle, "127.0.0.1", 0, process_request=scripted.answer_http, **options)


async def _stop(server: Server) -> None:
    for connection in server.connections:
        connection.transport.abort()
    server.close()
    await server.wait_closed()
    # Scripts that wait for something else than the client end here.
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
