"""What stands before a Space: pages while it wakes, broken connections, and then the environment's own server."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias
from urllib.parse import urlsplit

from tests.support.loopback import served

Moment: TypeAlias = str
"""What a request meets: a 503 ``page``, a 200 page (``loading``), an end without an answer (``drop``) or in the middle
of one (``cut``), or ``redirect URL``."""

_PAGE = b"<!doctype html><html><body>Preparing Space. Your space is in error, or it sleeps.</body></html>"
_CHUNK = 65536
_PATIENCE = 30.0


class SpaceFront:
    """The state of a front.

    Args:
        backend: The address of the environment's server.
        script: What the requests meet, one after another; when all of it is over, the server answers.
        token: What a private Space asks for; None for a public one.
        tell: Told the stage: ``APP_STARTING`` by the first request, ``RUNNING`` when the server answers.

    Attributes:
        url: Where it listens.
        heads: The request line and headers of every request.
        on_request: Called with every request.
    """

    def __init__(
        self, backend: str, script: Iterable[Moment], token: str | None, tell: Callable[[str], object]
    ) -> None:
        self.url = ""
        self.heads: list[str] = []
        self.on_request: Callable[[], object] = dict
        self._backend = urlsplit(backend)
        self._script = iter(script)
        self._token = token
        self._tell = tell
        self._lock = threading.Lock()

    def serve(self, caller: socket.socket) -> None:
        """Answers one connection."""
        caller.settimeout(_PATIENCE)
        head, rest = _read_head(caller)
        if not head:
            return
        with self._lock:
            is_first = not self.heads
            self.heads.append(head)
            is_let_in = self._token is None or f"authorization: bearer {self._token}".lower() in head.lower()
            moment = next(self._script, None) if is_let_in else None
            if is_let_in:
                self._tell("RUNNING" if moment is None else "APP_STARTING" if is_first else "")
        self.on_request()
        if not is_let_in:
            _send_page(caller, "404 Not Found")
        elif moment is None:
            self._pass_on(caller, head.encode() + rest)
        elif moment == "page":
            _send_page(caller, "503 Service Unavailable")
        elif moment == "loading":
            _send_page(caller, "200 OK")
        elif moment.startswith("redirect "):
            target = moment.removeprefix("redirect ")
            caller.sendall(f"HTTP/1.1 307 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())
        elif moment == "cut":
            caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")

    def _pass_on(self, caller: socket.socket, begun: bytes) -> None:
        address = (self._backend.hostname or "", self._backend.port or 80)
        with socket.create_connection(address, _PATIENCE) as server:
            server.sendall(begun)
            back = threading.Thread(target=_pump, args=(server, caller), daemon=True)
            back.start()
            _pump(caller, server)
            back.join(_PATIENCE)


@contextmanager
def space_front(
    backend: str,
    script: Iterable[Moment] = (),
    *,
    token: str | None = None,
    tell: Callable[[str], object] = str,
) -> Iterator[SpaceFront]:
    """Runs a front on 127.0.0.1 until the block ends; see ``SpaceFront``."""
    front = SpaceFront(backend, script, token, tell)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                front.serve(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with served(Server(("127.0.0.1", 0), Handler)) as address:
        front.url = f"http://{address}"
        yield front


def _read_head(caller: socket.socket) -> tuple[str, bytes]:
    received = b""
    while b"\r\n\r\n" not in received:
        data = caller.recv(_CHUNK)
        if not data:
            return "", b""
        received += data
    head, mark, rest = received.partition(b"\r\n\r\n")
    return (head + mark).decode("latin-1"), rest


def _send_page(caller: socket.socket, status: str) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(_PAGE)}\r\nConnection: close\r\n\r\n"
    caller.sendall(head.encode() + _PAGE)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
