"""A socket in front of an engine's, on which a request can be held, and which can be away for a while."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CHUNK = 65536
_SECONDS = 60.0


class EngineProxy:
    """Hands bytes on, both ways.

    Args:
        path: The socket to listen on.
        engine: The engine's address.
    """

    def __init__(self, path: Path, engine: str) -> None:
        self.address = f"unix://{path}"
        self.held = threading.Event()
        """Set when a request to create a container has come, which is not handed on yet."""
        self.listed = threading.Event()
        """Set when a list of containers was asked for after that."""
        self.release = threading.Event()
        """To be set when the held request may go on."""
        self._path = path
        self._engine = engine.removeprefix("unix://")
        self._open: list[socket.socket] = []
        self._listener: socket.socket | None = None

    def appear(self) -> None:
        """Begins to listen."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen(128)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def vanish(self) -> None:
        """Closes everything, as an engine does that is killed."""
        self.release.set()
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._path.unlink()
            self._listener = None
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                inner = listener.accept()[0]
                outer = socket.socket(socket.AF_UNIX)
                outer.connect(self._engine)
                self._open += [inner, outer]
                for ends in ((inner, outer, True), (outer, inner, False)):
                    threading.Thread(target=self._copy, args=ends, daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, to_engine: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                target.sendall(self._looked_at(source, data) if to_engine else data)
            if not to_engine:
                target.shutdown(socket.SHUT_WR)
            # An engine gives up a request when its sender goes early: one whose sender was killed has to go on here.

    def _looked_at(self, source: socket.socket, data: bytes) -> bytes:
        if b"/containers/json" in data and self.held.is_set():
            self.listed.set()
        if b"/containers/create" in data:
            # Its sender may be killed as soon as it is held: what is held is whole.
            data = _whole_request(source, data)
            self.held.set()
            self.release.wait(_SECONDS)
        return data


def _whole_request(source: socket.socket, data: bytes) -> bytes:
    while b"\r\n\r\n" not in data:
        data += source.recv(_CHUNK)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    missing = int(length.partition(b":")[2]) - len(body)
    while missing > 0:
        received = source.recv(_CHUNK)
        data, missing = data + received, missing - len(received)
    return data


@contextmanager
def engine_proxy(path: Path, engine: str) -> Iterator[EngineProxy]:
    """A proxy that listens."""
    proxy = EngineProxy(path, engine)
    proxy.appear()
    try:
        yield proxy
    finally:
        proxy.vanish()
