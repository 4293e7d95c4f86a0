"""One session on the standard wire: its connection, the queue of its calls, and what happens when either breaks.

The rules are ``openenv_gym_protocol.client_session``'s; this moves the frames. It lives on the I/O thread: its
methods are called on that thread's loop, so the caller's own loop may block, end or be another one each time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from openenv_gym_protocol import codec, errors
from openenv_gym_protocol.client_session import ClientSession, SessionState
from openenv_gym_protocol.messages import CloseRequest, Reply, Request, ResetRequest

from openenv_gym.client.inbox import Inbox
from openenv_gym.client.turn import Turn
from openenv_gym.transports.base import Connection, ConnectionOptions, Connector


class Held:
    """The connection that a channel holds, and nothing else of it.

    Finalizers keep it alive: an error that was raised keeps its callers' frames alive, and so their client, and a
    channel keeps errors.

    Attributes:
        connection: The open connection, or None.
    """

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = os.getpid()

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked child's copy of what its parent holds."""
        return self._pid != os.getpid()

    def hold(self, connection: Connection) -> None:
        """Takes a connection of the running loop."""
        self.connection, self._loop = connection, asyncio.get_running_loop()

    def take(self) -> Connection | None:
        """Hands the connection out and holds none."""
        connection, self.connection = self.connection, None
        return connection

    def abort(self) -> None:
        """Closes the connection at once, if there is one."""
        connection = self.take()
        if connection is not None:
            connection.abort()

    def leave_parent(self) -> None:
        """In a forked child: lets the parent keep its connection."""
        self._pid = os.getpid()
        self.connection = None

    def release(self) -> None:
        """Frees the socket when the client was forgotten without a close. For finalizers: on any thread, no locks."""
        if self.connection is None or self._loop is None or self.is_inherited:
            return
        # A loop that has ended took its sockets with it.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.abort)


class Channel:
    """A session and its connection, opened when first needed.

    Args:
        url: The WebSocket URL.
        options: How to open the connection.
        connector: What opens it.

    Attributes:
        held: Its connection.
    """

    def __init__(self, url: str, options: ConnectionOptions, connector: Connector) -> None:
        self._url = url
        self._options = options
        self._connector = connector
        self._session = ClientSession()
        self._inbox = Inbox()
        self.held = Held()
        self._turn = Turn()

    @property
    def state(self) -> SessionState:
        """Where the session stands."""
        held = self._session.state in (SessionState.READY, SessionState.WAITING)
        return SessionState.LOST if held and self.held.is_inherited else self._session.state

    @property
    def is_quiet(self) -> bool:
        """Whether a request can be sent at once, with nothing to be heard or waited for before."""
        is_ready = self._session.state is SessionState.READY and not self.held.is_inherited
        return is_ready and not self._turn.is_taken and self._inbox.ended is None and not self._inbox.frames

    async def connect(self) -> None:
        """Opens the connection, if the session has none yet.

        Raises:
            SessionLost: The session is lost; only a reset may start another.
            OpenEnvGymError: The connection cannot be opened.
        """
        self._leave_parent()
        async with self._turn:
            self._hear()
            if self._session.state is SessionState.CLOSED:
                raise errors.ClientClosed("This client is closed; connect() needs a new one.")
            if self._session.state is SessionState.LOST:
                cause = self._session.cause
                raise errors.SessionLost(f"The session is lost ({cause}): call reset() to start another.") from cause
            if self._session.needs_connection:
                await self._open()

    async def call(self, request: Request, timeout: float | None) -> Reply:
        """Sends a request when the calls before it are answered, and waits for its reply.

        Args:
            request: What is asked.
            timeout: Seconds to wait for the reply; waiting for the calls before it and for the connection is not
                counted. None for no limit.

        Raises:
            ReplyTimeout: No reply in time. The session is lost.
            SessionLost: The session was lost before, and the request is no reset.
            OpenEnvGymError: What the server answered, or why the connection broke.
        """
        self._leave_parent()
        async with self._turn:
            said = self._hear()
            if said is not None and not isinstance(request, ResetRequest):
                raise said
            self._session.check(request)
            if self._session.needs_connection:
                await self._open()
            return await self._exchange(request, timeout)

    def begin(self, request: Request, timeout: float | None, settle: Callable[[Reply | Exception], object]) -> bool:
        """Does what ``call`` does without a coroutine, where nothing has to be waited for but the reply.

        Args:
            request: What is asked.
            timeout: As for ``call``.
            settle: Takes the reply, or what ``call`` would raise.

        Returns:
            Whether it does. Otherwise nothing has happened.
        """
        if not self.is_quiet or not self._turn.take():
            return False
        try:
            frame = self._session.request(request)
        except Exception as error:
            self._turn.give_back()
            settle(error)
            return True
        self._write(frame)
        self._inbox.call_when_there(lambda: self._finish(request, timeout, settle), timeout)
        return True

    def interrupt(self, call: str) -> None:
        """Gives the session up because nobody waits any more for what was begun."""
        self._inbox.call_nobody()
        self._session.abandon(_interrupted(call))
        self.held.abort()
        self._turn.give_back()

    async def close(self) -> None:
        """Ends the session: a call under way fails, the server is told, the connection is closed."""
        self._leave_parent()
        if self._session.state is SessionState.CLOSED:
            return
        self._session.close()
        await self._say_goodbye(errors.ClientClosed("The client was closed while the call was under way."))

    async def disconnect(self) -> None:
        """Ends the session but not the client: the next reset opens another."""
        self._leave_parent()
        if self._session.state in (SessionState.READY, SessionState.WAITING):
            reason = errors.SessionLost("disconnect() ended the session.")
            self._session.abandon(reason)
            await self._say_goodbye(reason)

    def drop(self) -> None:
        """Gives the session up, because a reply of it reached nobody."""
        error = errors.SessionLost("a call was interrupted and its reply not read")
        self._session.abandon(error)
        self._inbox.connection_lost(error)
        self.held.abort()

    async def _open(self) -> None:
        inbox = Inbox()
        connection = await self._connector(self._url, self._options, inbox)
        if self._session.state is SessionState.CLOSED:
            connection.abort()
            raise errors.ClientClosed("The client was closed while it connected.")
        self._inbox = inbox
        self.held.hold(connection)
        self._session.connected()

    async def _exchange(self, request: Request, timeout: float | None) -> Reply:
        self._write(self._session.request(request))
        inbox = self._inbox
        try:
            await inbox.arrival(timeout)
        except BaseException:
            # A cancelled call leaves its reply on the way.
            self._session.abandon(_interrupted(request.type))
            self.held.abort()
            raise
        return self._reply(inbox, request, timeout)

    def _finish(self, request: Request, timeout: float | None, settle: Callable[[Reply | Exception], object]) -> None:
        outcome: Reply | Exception
        try:
            outcome = self._reply(self._inbox, request, timeout)
        except Exception as error:
            outcome = error
        self._turn.give_back()
        settle(outcome)

    def _write(self, frame: str) -> None:
        connection = self.held.connection
        assert connection is not None
        # A server that refuses may have closed already: its reason is then to be read, though nothing can be sent.
        with contextlib.suppress(errors.ConnectionLost):
            connection.send(frame)

    def _reply(self, inbox: Inbox, request: Request, timeout: float | None) -> Reply:
        """Reads what came, or raises why nothing did."""
        try:
            return self._session.receive(self._frame(inbox, request, timeout))
        finally:
            if self._session.state is SessionState.WAITING:
                # A frame so odd that reading it failed: what it answered is unknown, and the next call must not wait.
                self._session.abandon(errors.UnexpectedReply(f"The reply to {request.type}() could not be read"))
            if self._session.state is SessionState.LOST:
                self.held.abort()

    def _frame(self, inbox: Inbox, request: Request, timeout: float | None) -> str | bytes:
        try:
            return inbox.take()
        except TimeoutError:
            late = errors.ReplyTimeout(
                f"No reply to {request.type}() within {timeout:g} s. The session is given up, so that a "
                "late reply can reach no other call: call reset(), or raise the time-out."
            )
            self._session.abandon(late)
            raise late from None
        except errors.OpenEnvGymError as ended:
            raise self._session.lost(ended) from ended.__cause__

    def _hear(self) -> errors.OpenEnvGymError | None:
        """Takes in what came while no request was open, and returns what the server said with it."""
        said: errors.OpenEnvGymError | None = None
        while self._inbox.frames and self._session.state is SessionState.READY:
            try:
                self._session.receive(self._inbox.frames.popleft())
            except errors.OpenEnvGymError as error:
                said = error
        if self._inbox.ended is not None and self._session.state is SessionState.READY:
            self._session.lost(self._inbox.ended)
        if self._session.state is SessionState.LOST:
            self.held.abort()
        return said

    async def _say_goodbye(self, reason: errors.OpenEnvGymError) -> None:
        connection = self.held.take()
        self._inbox.connection_lost(reason)
        if connection is None:
            return
        try:
            with contextlib.suppress(errors.ConnectionLost):
                connection.send(codec.encode_request(CloseRequest()))
            await connection.close()
        except BaseException:
            connection.abort()
            raise

    def _leave_parent(self) -> None:
        """In a forked child: lets the parent keep its session, and starts with none."""
        if not self.held.is_inherited:
            return
        self.held.leave_parent()
        self._inbox = Inbox()
        self._turn = Turn()
        if self._session.state in (SessionState.READY, SessionState.WAITING):
            self._session.abandon(errors.SessionLost("this process was forked, and the session stayed with its parent"))


def _interrupted(call: str) -> errors.SessionLost:
    return errors.SessionLost(f"{call}() was interrupted while it waited")
