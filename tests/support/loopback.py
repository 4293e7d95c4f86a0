"""Servers on threads of the tests' own process."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def served(server: socketserver.TCPServer) -> Iterator[str]:
    """Has a server answer until the block ends, and closes it.

    Yields:
        Its host and port.
    """
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    with server:
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
