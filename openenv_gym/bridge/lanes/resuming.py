"""A link's way back to its lanes after its connection broke, on the event loop: transparent to whoever waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from openenv_gym_protocol.errors import (
    ConfigurationError,
    ConnectionLost,
    ConnectTimeout,
    OpenEnvGymError,
    ProtocolFailure,
    ReplyTimeout,
    SessionLost,
    Unauthorized,
    copied,
)
from openenv_gym_protocol.vector.requests import VectorSession

from openenv_gym.bridge.lanes.negotiation import offer_vector
from openenv_gym.bridge.servers.server import Server
from openenv_gym.transports.address import is_loopback
from openenv_gym.transports.base import Connection, Connector, Listener
from openenv_gym.transports.failures import nobody_listens

logger = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between attempts: the first comes at once, and each pause is twice the last."""

REFUSED_SECONDS = 2.0
"""How long nobody may listen at an address elsewhere, until the server's process counts as gone and its lanes with it.
On this machine nothing stands between, and it is gone at once."""

STEADY_SECONDS = 1.0
"""A resumed connection that breaks sooner, and brought nothing, was no way back: the same time goes on running."""

_ENDS = (1000, 1001, 1012)
"""Close codes by which a server says that it ends the connection, and its lanes with it."""

_FINAL = (SessionLost, Unauthorized, ConfigurationError, ProtocolFailure)
"""What no further attempt can mend."""


class Resumable(Protocol):
    """The link, as its way back sees it; both methods are called on the event loop."""

    server: Server
    session: VectorSession

    def go_on(self, connection: Connection, missed: Sequence[bytes]) -> Listener:
        """Takes up a connection, beginning with the frames that the server does not have; the link listens to it."""

    def lose(self, error: OpenEnvGymError) -> None:
        """Takes the lanes as lost."""


class Resuming:
    """Opens connections until one leads back to a link's lanes, or they are lost.

    Args:
        link: The link.
        connector: Opens connections.
    """

    def __init__(self, link: Resumable, connector: Connector) -> None:
        self._link = link
        self._connector = connector
        self._task: asyncio.Task[None] | None = None
        self._lost: OpenEnvGymError | None = None
        self._give_up_at = 0.0
        self._pause = 0.0
        self._resumed_at = -STEADY_SECONDS
        self._received = -1

    @property
    def is_under_way(self) -> bool:
        """Whether the link has no connection, and may get one."""
        return self._task is not None

    def explained(self, error: OpenEnvGymError) -> OpenEnvGymError:
        """Why a call is given up: where its time passed without a connection, that is the reason."""
        if self._lost is None or not self.is_under_way or not isinstance(error, ReplyTimeout):
            return error
        return _not_resumed(self._lost, error.message)

    def begin(self, error: OpenEnvGymError) -> bool:
        """Tries to resume the link, if that can be done.

        Args:
            error: How its connection ended.

        Returns:
            Whether it is tried; the link hears what comes of it.
        """
        if not isinstance(error, ConnectionLost) or error.close_code in _ENDS or not self._link.session.can_resume:
            return False
        loop = asyncio.get_running_loop()
        received = self._link.session.resumption.received
        if received != self._received or loop.time() - self._resumed_at >= STEADY_SECONDS:
            self._give_up_at = loop.time() + self._link.session.resumption.linger
            self._pause = 0.0
        self._received = received
        self._lost = copied(error)
        self._task = loop.create_task(self._run(self._lost))
        return True

    def stop(self) -> None:
        """Ends the attempts."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    async def _run(self, lost: OpenEnvGymError) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        patience = 0.0 if is_loopback(self._link.server.base_url) else REFUSED_SECONDS
        while True:
            await asyncio.sleep(self._pause)
            self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
            try:
                await self._attempt()
            except OpenEnvGymError as error:
                is_gone = nobody_listens(error.__cause__) and loop.time() - began >= patience
                is_over = isinstance(error, _FINAL) or getattr(error, "close_code", None) in _ENDS
                if is_gone or is_over or loop.time() + self._pause >= self._give_up_at:
                    self._fail(lost, error)
                    return
            except Exception as error:
                # Whoever waits must hear of it, whatever it is: nobody else does.
                logger.exception("The attempt to resume a link failed by a fault of this end.")
                self._fail(lost, ConnectionLost(f"{error!r}"))
                return
            else:
                return

    async def _attempt(self) -> None:
        server, session = self._link.server, self._link.session
        left = self._give_up_at - asyncio.get_running_loop().time()
        listener: _Returning | None = None
        try:
            async with asyncio.timeout(min(max(left, 0.0), server.options.connect_timeout)):
                offered = await offer_vector(server, self._connector, session.resumption.headers())
                listener = _Returning(self, offered.connection)
                offered.hand_to(listener)
                if not offered.is_vector:
                    raise SessionLost("The server does not speak the vector wire any more.")
                offered.connection.send(session.resume())
                await listener.answered
        except TimeoutError:
            if listener is None or not listener.is_done:
                raise ConnectTimeout("The server did not answer the request to resume in time.") from None
        finally:
            if listener is not None and not listener.is_done:
                listener.answered.cancel()  # nobody waits for it any more
                listener.connection.abort()

    def returned(self, connection: Connection, frame: str | bytes) -> Listener:
        """Reads what the server answered on a new connection, and has the link go on there if it may.

        Raises:
            OpenEnvGymError: It may not.
        """
        missed = self._link.session.resumption.accepted(frame)
        self._task = None
        self._resumed_at = asyncio.get_running_loop().time()
        return self._link.go_on(connection, missed)

    def _fail(self, lost: OpenEnvGymError, why: OpenEnvGymError) -> None:
        self._task = None
        self._link.lose(_not_resumed(lost, why.message))


def _not_resumed(lost: OpenEnvGymError, why: str) -> OpenEnvGymError:
    error = copied(lost)
    error.args = (f"{lost.message} Its lanes could not be resumed: {why}",)
    return error


class _Returning:
    """Listens to a connection that asks to resume; from the answer on, the link does."""

    def __init__(self, resuming: Resuming, connection: Connection) -> None:
        self.connection = connection
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._resuming = resuming
        self._link: Listener | None = None

    @property
    def is_done(self) -> bool:
        """Whether the link has the connection."""
        return self._link is not None

    def frame_received(self, frame: str | bytes) -> None:
        if self._link is not None:
            self._link.frame_received(frame)
        elif not self.answered.done():
            try:
                self._link = self._resuming.returned(self.connection, frame)
            except OpenEnvGymError as error:
                self._fail(error)
            else:
                self.answered.set_result(None)

    def connection_lost(self, error: OpenEnvGymError) -> None:
        if self._link is not None:
            self._link.connection_lost(error)
        elif not self.answered.done():
            self._fail(error)

    def _fail(self, error: OpenEnvGymError) -> None:
        self.answered.set_exception(error)
        self.answered.exception()  # whoever waits may have gone for another reason: it is no news to anybody
