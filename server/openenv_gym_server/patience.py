"""uvicorn's HTTP connection with limits for the head of a request, which uvicorn itself waits for without an end."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
"""The largest head of a request: its first line and its headers."""


class PatientHttpProtocol(HttpToolsProtocol):
    """One connection. A head that is not there in time, or too large, ends it.

    Attributes:
        seconds: How long the head of a request may take; the time counts from the connection's first moment, and
            from the first byte of each later request.
        keeps_alive: A connection may bring further requests.
    """

    seconds: float = 30.0
    keeps_alive: bool = True

    _waiting: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Begins to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits no more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes bytes of the client."""
        super().data_received(data)
        if self._waiting is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """Waits for the head of a further request."""
        super().on_message_begin()
        if self._waiting is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """Has the head."""
        self._wait_no_more()
        super().on_headers_complete()
        if not self.keeps_alive and self.cycle is not None:
            self.cycle.keep_alive = False

    def _wait(self) -> None:
        self._head_bytes = 0
        self._waiting = self.loop.call_later(self.seconds, self._give_up)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        self.transport.abort()


def patient_protocol(seconds: float, *, keeps_alive: bool = True) -> type[PatientHttpProtocol]:
    """Uvicorn's HTTP protocol with a limit in seconds; without ``keeps_alive`` each connection has one request."""
    return type("PatientHttpProtocol", (PatientHttpProtocol,), {"seconds": seconds, "keeps_alive": keeps_alive})
