"""One session of a vector environment, as the thread sees it that has its connection.

A lane writes a request when its round starts and tells the round what came of it. Everything here but the
constructor runs on the event loop, except ``begin`` and ``frame_received``, which run on the caller's thread while the
connection is lent to it. Nothing waits: no task, future or coroutine for a lane and step.
"""

from __future__ import annotations

import uuid
from typing import Protocol

from openenv_gym_protocol.client_session import ClientSession, SessionState
from openenv_gym_protocol.errors import ClientClosed, ConnectionLost, OpenEnvGymError
from openenv_gym_protocol.messages import AnyRequest, CloseRequest, Reply, ResetRequest

from openenv_gym.bridge.servers.server import Server
from openenv_gym.transports.address import websocket_url
from openenv_gym.transports.base import Connection, Connector

_LOST = SessionState.LOST  # looked up by its name, it takes as long as a rule


class Waiter(Protocol):
    """Who waits for the replies of some lanes."""

    def settle(self, position: int, outcome: Reply | OpenEnvGymError) -> None:
        """Takes what came of the request at a position among them."""


class Lane:
    """A session and its connection.

    Attributes:
        index: Its place in the vector environment.
        session_id: The client's name for the running session: the standard wire has none of the server's.
        server: Where it is connected, or was.
        listener: What hears its connection.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        self.session_id: str | None = None
        self.server: Server | None = None
        self._session = ClientSession()
        self._connection: Connection | None = None
        self.listener: _LaneListener | None = None
        self._waiter: Waiter | None = None
        self._position = 0
        self._was_reset = False

    @property
    def needs_connection(self) -> bool:
        """Whether a connection has to be opened before a reset."""
        return self._session.needs_connection

    @property
    def is_new_session(self) -> bool:
        """Whether the next reset is its session's first."""
        return not self._was_reset or self.needs_connection

    @property
    def is_unused(self) -> bool:
        """Whether it was never connected."""
        return self._session.state is SessionState.UNCONNECTED

    @property
    def connection(self) -> Connection | None:
        """What its requests are written to."""
        return self._connection

    async def connect(self, server: Server, connector: Connector) -> None:
        """Opens a session at a server.

        Raises:
            OpenEnvGymError: The connection could not be opened.
        """
        self._drop()
        self.server = server
        self.session_id = uuid.uuid4().hex[:12]
        self._was_reset = False
        listener = self.listener = _LaneListener(self)
        # Before the connection is there: a server that refuses speaks first, and that must not be lost.
        self._session.connected()
        try:
            connection = await connector(websocket_url(server.base_url), server.options, listener)
        except OpenEnvGymError as error:
            raise self._session.lost(error) from error
        except BaseException:  # cancelled: the caller was interrupted while it waited
            self._session.lost(ConnectionLost("The call was interrupted while the connection was opened."))
            raise
        if self._session.state is SessionState.LOST:
            connection.abort()
            raise self._session.cause or ConnectionLost("The server closed the connection at once.")
        self._connection = connection

    def begin(self, request: AnyRequest, waiter: Waiter, position: int) -> None:
        """Writes a request; the waiter hears of its reply."""
        self._waiter, self._position = waiter, position
        try:
            frame = self._session.request(request)
        except OpenEnvGymError as error:
            self._settle(error)
            return
        if type(request) is ResetRequest:  # isinstance asks pydantic, which takes its time
            self._was_reset = True
        try:
            if self._connection is None:
                raise ConnectionLost("The connection is closed.")
            self._connection.send(frame)
        except ConnectionLost as error:
            # What the server said before it closed is on its way to the listener, or here already.
            self._settle(self._session.lost(error))

    def abandon(self, error: OpenEnvGymError) -> None:
        """Gives up the open request: its reply, should it come, is read by nobody."""
        self._session.abandon(error)
        self._drop()
        self._settle(error)

    def lose(self, error: OpenEnvGymError) -> None:
        """Gives up the session, whose connection is another process's."""
        self._connection = self.listener = None
        self._session.abandon(error)

    async def close(self) -> None:
        """Ends the session: tells the server and closes the connection, within the transport's bound."""
        connection, self._connection, self.listener = self._connection, None, None
        is_ready = self._session.state is SessionState.READY
        frame = self._session.request(CloseRequest()) if is_ready else None
        self._session.close()
        self._settle(ClientClosed("The environment was closed before the reply came."))
        if connection is None:
            return
        if frame is None or not connection.is_open:
            connection.abort()
            return
        try:
            connection.send(frame)
        except ConnectionLost:
            return  # it ended by itself just now
        await connection.close()

    def frame_received(self, frame: str | bytes) -> None:
        """Reads the reply of the open request, or what a server says without being asked."""
        outcome: Reply | OpenEnvGymError
        try:
            outcome = self._session.receive(frame)
        except OpenEnvGymError as error:
            outcome = error
        if self._session.state is _LOST:
            self._drop()
        self._settle(outcome)

    def connection_lost(self, error: OpenEnvGymError) -> None:
        """Notes that the connection ended."""
        self._connection = self.listener = None
        self._settle(self._session.lost(error))

    def _settle(self, outcome: Reply | OpenEnvGymError) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.settle(self._position, outcome)

    def _drop(self) -> None:
        """Poisons the connection: whatever still comes from it reaches nobody."""
        connection, self._connection, self.listener = self._connection, None, None
        if connection is not None:
            connection.abort()


class _LaneListener:
    """What hears one connection: a lane's earlier connections are not heard any more."""

    __slots__ = ("_lane",)

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    def frame_received(self, frame: str | bytes) -> None:
        if self._lane.listener is self:
            self._lane.frame_received(frame)

    def connection_lost(self, error: OpenEnvGymError) -> None:
        if self._lane.listener is self:
            self._lane.connection_lost(error)
