"""Opens connections over WebSocket.

The websockets library does the handshake, with TLS, proxies and what a server may answer. Compression is not offered,
so that what follows are plain frames, which ``websocket_connection`` reads and writes.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any, cast

from websockets.asyncio.client import ClientConnection, connect
from websockets.client import ClientProtocol
from websockets.exceptions import WebSocketException
from websockets.protocol import State
from websockets.typing import Subprotocol

from openenv_gym.transports.address import is_loopback
from openenv_gym.transports.base import Connection, ConnectionOptions, Listener
from openenv_gym.transports.failures import handshake_failure
from openenv_gym.transports.forked import ends
from openenv_gym.transports.local_socket import local_socket
from openenv_gym.transports.tls import tls_context
from openenv_gym.transports.websocket_connection import WebSocketConnection

_END_OF_HEAD = b"\r\n\r\n"


async def open_websocket(url: str, options: ConnectionOptions, listener: Listener) -> Connection:
    """Opens a connection to a server's sessions.

    The listener may be told of frames, and of the end, before this returns: a server that refuses speaks first.

    Args:
        url: A ``ws://`` or ``wss://`` URL.
        options: How to open and keep the connection.
        listener: Who is told what comes.

    Raises:
        ConnectError: It could not be opened; the message says why and what to do.
        ConnectTimeout: Not within ``options.connect_timeout``.
        Unauthorized: The server refused the token or asked for one.
        ConfigurationError: The URL or ``ca_file`` cannot be used.
    """
    proxied = _uses_proxy(url, options)
    given = _tls(url, options)
    local = None if proxied else await local_socket(url)
    if local is not None:
        given["sock"] = local
    try:
        handshake = await _Connect(
            url,
            # websockets asks for a class and calls it with the protocol and keywords, as it may this.
            create_connection=cast(type[ClientConnection], partial(_Handshake, url, options, listener)),
            additional_headers=options.request_headers(),
            subprotocols=[Subprotocol(name) for name in options.subprotocols] or None,
            compression=None,
            open_timeout=options.connect_timeout,
            ping_interval=None,
            proxy=proxied or None,
            logger=_wire_log,
            **given,
        )
    except (OSError, EOFError, ImportError, ValueError, WebSocketException) as error:
        if local is not None:
            local.close()  # websockets may have refused the URL, and never taken it
        raise handshake_failure(error, url, options) from error
    connection = cast(_Handshake, handshake).taken_over
    assert connection is not None  # the handshake has succeeded
    return connection


class _Connect(connect):
    """Opens connections as websockets does, but follows no redirect: the token is for the given host alone."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


class _Handshake(ClientConnection):
    """A connection up to the end of its handshake, after which it is taken over."""

    def __init__(
        self, url: str, options: ConnectionOptions, listener: Listener, protocol: ClientProtocol, **keywords: Any
    ) -> None:
        super().__init__(protocol, **keywords)
        self.taken_over: WebSocketConnection | None = None
        self._url = url
        self._options = options
        self._listener = listener
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        ends.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        ends.discard(self)

    def data_received(self, data: bytes) -> None:
        # Cut behind the head of the response: what follows are frames, of which websockets must not see any.
        head = (self._tail + data).find(_END_OF_HEAD)
        end = len(data) if head < 0 else head + len(_END_OF_HEAD) - len(self._tail)
        self._tail = (self._tail + data)[1 - len(_END_OF_HEAD) :]
        super().data_received(data[:end])
        if self.protocol.state is State.OPEN:
            self._be_taken_over(data[end:])
        elif end < len(data):
            super().data_received(data[end:])

    def _be_taken_over(self, first_frames: bytes) -> None:
        ends.discard(self)
        self.taken_over = WebSocketConnection(
            self.transport, self._url, self._options, self._listener, self.protocol.subprotocol
        )
        self.transport.set_protocol(self.taken_over)
        if first_frames:
            self.taken_over.data_received(first_frames)


def _hide_secrets(record: logging.LogRecord) -> bool:
    """Takes the values of request headers, and the query, out of what websockets logs of a handshake."""
    if record.msg == "> %s: %s" and isinstance(record.args, tuple):
        record.args = (record.args[0], "(not logged)")
    elif record.msg == "> GET %s HTTP/1.1" and isinstance(record.args, tuple):
        record.args = (str(record.args[0]).partition("?")[0],)
    return True


_wire_log = logging.getLogger("openenv_gym.websocket")
_wire_log.addFilter(_hide_secrets)


def _uses_proxy(url: str, options: ConnectionOptions) -> bool:
    return not is_loopback(url) if options.use_proxy is None else options.use_proxy


def _tls(url: str, options: ConnectionOptions) -> dict[str, Any]:
    secure = url.lower().startswith("wss:")
    return {"ssl": tls_context(options.ca_file)} if secure and options.ca_file is not None else {}
