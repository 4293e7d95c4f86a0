"""Connections over WebSocket.

What comes is told to a listener in the protocol's own callbacks: no task, queue or future per connection and
message, so that one loop carries a thousand sessions.
"""

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from functools import partial
from typing import Any, cast

from openenv_gym_protocol.errors import ConnectionLost, OpenEnvGymError
from websockets.asyncio.client import ClientConnection, connect
from websockets.client import ClientProtocol
from websockets.exceptions import WebSocketException
from websockets.frames import DATA_OPCODES, CloseCode, Frame, Opcode
from websockets.protocol import Event, State
from websockets.typing import Subprotocol

from openenv_gym.transports.address import is_loopback
from openenv_gym.transports.base import Connection, ConnectionOptions, Listener
from openenv_gym.transports.failures import closing_failure, handshake_failure, shown
from openenv_gym.transports.tls import tls_context

CLOSE_TIMEOUT = 2.0
"""Seconds that a closing handshake may take."""


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
    tls = _tls(url, options)
    try:
        wire = await _Connect(
            url,
            # websockets asks for a class and calls it with the protocol and keywords, as it may this.
            create_connection=cast(type[ClientConnection], partial(_Wire, url, listener)),
            additional_headers=options.request_headers(),
            subprotocols=[Subprotocol(name) for name in options.subprotocols] or None,
            compression=None,
            open_timeout=options.connect_timeout,
            ping_interval=options.ping_interval,
            ping_timeout=options.ping_timeout,
            close_timeout=CLOSE_TIMEOUT,
            max_size=options.max_frame_bytes,
            proxy=_uses_proxy(url, options) or None,
            logger=_wire_log,
            **tls,
        )
    except (OSError, EOFError, ImportError, ValueError, WebSocketException) as error:
        raise handshake_failure(error, url, options) from error
    return WebSocketConnection(cast(_Wire, wire))


class WebSocketConnection:
    """An open WebSocket connection, as ``openenv_gym.transports.base.Connection`` describes it."""

    __slots__ = ("_wire",)

    def __init__(self, wire: _Wire) -> None:
        self._wire = wire
        if not self.is_open and wire.keepalive_task is not None:
            # The server spoke and closed during the handshake: there is nothing to keep alive.
            wire.keepalive_task.cancel()

    @property
    def is_open(self) -> bool:
        """Whether frames can still be sent."""
        return self._wire.protocol.state is State.OPEN and not self._wire.transport.is_closing()

    @property
    def subprotocol(self) -> str | None:
        """Which of the offered subprotocols the server selected; None for none."""
        return self._wire.subprotocol

    def send(self, frame: str | bytes) -> None:
        """Writes a frame without waiting: str as text, bytes as binary.

        Raises:
            ConnectionLost: The connection is closed. What the server said before may still reach the listener.
        """
        if not self.is_open:
            raise ConnectionLost(f"The connection to {shown(self._wire.url)} is closed.")
        if isinstance(frame, str):
            self._wire.protocol.send_text(frame.encode())
        else:
            self._wire.protocol.send_binary(frame)
        self._wire.send_data()

    async def close(self) -> None:
        """Closes with the closing handshake, within a short bound. Never raises."""
        try:
            await self._wire.close()
        except (OSError, WebSocketException):
            self.abort()

    def abort(self) -> None:
        """Closes at once, without a handshake; what is on its way is dropped. Never raises."""
        self._wire.was_aborted = True
        self._wire.transport.abort()


class _Connect(connect):
    """Opens connections as websockets does, but follows no redirect: the token is for the given host alone."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


class _Wire(ClientConnection):
    """A connection that hands whole messages to a listener."""

    def __init__(self, url: str, listener: Listener, protocol: ClientProtocol, **options: Any) -> None:
        super().__init__(protocol, **options)
        self.url = url
        self.was_aborted = False
        self._listener: Listener | None = listener
        self._opcode = Opcode.TEXT
        self._parts: list[bytes] = []
        self._last_call: asyncio.TimerHandle | None = None
        _open_wires.add(self)

    def process_event(self, event: Event) -> None:
        if isinstance(event, Frame) and event.opcode in DATA_OPCODES:
            self._frame_received(event)
        else:
            super().process_event(event)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_established and self.protocol.state is not State.OPEN:
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._is_established:
            self._end(exc)
        if self._last_call is not None:
            self._last_call.cancel()
        _open_wires.discard(self)

    @property
    def _is_established(self) -> bool:
        return self.response is not None and self.protocol.handshake_exc is None

    def _frame_received(self, frame: Frame) -> None:
        if frame.opcode is not Opcode.CONT:
            self._opcode = frame.opcode
        if self._parts or not frame.fin:
            self._parts.append(bytes(frame.data))
            if not frame.fin:
                return
            data = b"".join(self._parts)
            self._parts = []
        else:
            data = bytes(frame.data)
        if self._listener is None:
            return
        if self._opcode is Opcode.BINARY:
            self._listener.frame_received(data)
            return
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            self.protocol.parser_exc = error
            self.protocol.fail(CloseCode.INVALID_DATA, "text that is not UTF-8")
            self.send_data()
            return
        self._listener.frame_received(text)

    def _end(self, broken_by: Exception | None = None) -> None:
        """Tells the listener, without waiting for a peer that says goodbye and leaves its socket open."""
        if self._listener is None:
            return
        listener, self._listener = self._listener, None
        error: OpenEnvGymError = (
            ConnectionLost(f"This end dropped the connection to {shown(self.url)}.")
            if self.was_aborted
            else closing_failure(self.protocol, self.url, broken_by)
        )
        if self.protocol.state is not State.CLOSED:
            self._last_call = self.loop.call_later(CLOSE_TIMEOUT, self.transport.abort)
        listener.connection_lost(error)


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


_open_wires: weakref.WeakSet[_Wire] = weakref.WeakSet()
_inherited: list[_Wire] = []
"""In a forked child: the parent's connections, kept so that no finalizer touches the event loop they share."""


def _let_go_after_fork() -> None:
    # A child that held these sockets would keep the parent's sessions open after the parent's death. They are
    # replaced, not closed, because the objects still know the numbers; neither reaches the parent's own.
    _inherited.extend(_open_wires)
    _open_wires.clear()
    if not _inherited:
        return
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for wire in _inherited:
        _replace_socket(wire, nowhere)
    os.close(nowhere)


def _replace_socket(wire: _Wire, nowhere: int) -> None:
    transport = getattr(wire, "transport", None)
    socket = transport.get_extra_info("socket") if transport is not None else None
    if socket is not None and socket.fileno() >= 0:
        os.dup2(nowhere, socket.fileno(), inheritable=False)


os.register_at_fork(after_in_child=_let_go_after_fork)
