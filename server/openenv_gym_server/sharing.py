"""Sessions that outlive sockets: who uses one, and when it may end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from openenv_gym_protocol.errors import SessionError, SessionLost

from openenv_gym_server.session import Session
from openenv_gym_server.sessions import Sessions


class Attachment:
    """The right of one socket to use a session. A later one makes an earlier one's ``detach`` harmless.

    Attributes:
        session: The session.
    """

    def __init__(self, sharing: Sharing, session: Session) -> None:
        self.session = session
        self._sharing = sharing

    def detach(self, *, is_lost: bool = False) -> None:
        """Gives the right back; the session lives on, unless it was to end with its socket.

        Args:
            is_lost: The socket broke: nobody has said that the session is wanted any more. It ends, unless it is an
                MCP session's, or an agent listens.
        """
        self._sharing.detach(self, is_lost=is_lost)


class Sharing:
    """Lends sessions to sockets and agents. Used on the server's event loop only.

    Args:
        sessions: All of the server's sessions.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._attached: dict[str, Attachment] = {}
        self._ending: set[str] = set()
        self._streams: Counter[str] = Counter()
        self._aliases: dict[str, Session] = {}

    async def create(self, is_left: Callable[[], Awaitable[bool]]) -> Session:
        """Opens a session that no socket owns; it has a time to live.

        Args:
            is_left: Tells whether whoever asks has gone. Nobody would learn of their session, which would keep its
                slot for all of its time to live: it ends at once.

        Raises:
            SessionLost: Whoever asked has gone.
            OpenEnvGymError: As for ``Sessions.open``.
        """
        session = await self._sessions.open(socket=False)
        session.idle_ttl = self._sessions.contract.config.agent_idle_ttl
        try:
            if await is_left():
                raise SessionLost("Whoever asked for a session has gone.")
        except BaseException:
            self._sessions.close(session)
            raise
        return session

    def find(self, session_id: str) -> Session:
        """The session of an id, or of the MCP session of that id.

        Raises:
            SessionLost: There is none.
        """
        aliased = self._aliases.get(session_id)
        return self._sessions.find(session_id if aliased is None else aliased.session_id)

    def attach(self, session_id: str) -> Attachment:
        """Lends a session to a socket, one at a time.

        Raises:
            SessionError: There is none, or a socket has it.
        """
        try:
            session = self.find(session_id)
        except SessionLost as error:
            raise SessionError(f"Unknown session_id: {session_id}") from error
        own = session.session_id
        if own in self._attached or (session.socket and not self._streams[own]):
            raise SessionError(f"Session {session_id} already has an attached WebSocket")
        attachment = self._attached[own] = Attachment(self, session)
        self._settle(session)
        return attachment

    def detach(self, attachment: Attachment, *, is_lost: bool = False) -> None:
        """Takes a session back from a socket; see ``Attachment.detach``."""
        session = attachment.session
        own = session.session_id
        if self._attached.get(own) is not attachment:
            return
        del self._attached[own]
        session.on_lost = None
        if own in self._ending or (is_lost and not self._has_agent(session)):
            self._end(session)
        else:
            self._settle(session)

    def close(self, session_id: str) -> bool:
        """Ends a session, at once or, where a socket has it, with that socket.

        Returns:
            Whether it has ended.

        Raises:
            SessionLost: There is none.
        """
        session = self.find(session_id)
        if session.session_id in self._attached:
            self._ending.add(session.session_id)
            return False
        if session.socket and not self._streams[session.session_id]:
            return False  # it is the socket's own
        self._end(session)
        return True

    def name(self, alias: str, session: Session) -> None:
        """Makes a session known by a second id, until ``forget``."""
        self._aliases[alias] = session

    def forget(self, alias: str) -> None:
        """Forgets a second id."""
        self._aliases.pop(alias, None)

    @contextmanager
    def streaming(self, session: Session) -> Iterator[None]:
        """While an agent listens, its session is not idle."""
        own = session.session_id
        self._streams[own] += 1
        self._settle(session)
        try:
            yield
        finally:
            self._streams[own] -= 1
            if not self._streams[own]:
                del self._streams[own]
            self._settle(session)

    def _has_agent(self, session: Session) -> bool:
        return bool(self._streams[session.session_id]) or session in self._aliases.values()

    def _settle(self, session: Session) -> None:
        session.socket = session.session_id in self._attached or bool(self._streams[session.session_id])
        session.used_at = time.monotonic()

    def _end(self, session: Session) -> None:
        self._ending.discard(session.session_id)
        self._sessions.close(session)
