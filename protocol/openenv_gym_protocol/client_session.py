"""The rules of a client's use of one session on the standard wire, without input or output.

The wire has no request ids: a reply belongs to the request before it. So one request is open at a time, and
when its reply is not waited for any longer the connection must never be used again (it is poisoned). A session
that is lost stays lost for every call but reset, which opens another connection.
"""

from __future__ import annotations

from enum import Enum

from openenv_gym_protocol import codec, errors
from openenv_gym_protocol.messages import (
    ANSWER_OF,
    AnyRequest,
    CloseRequest,
    ErrorReply,
    Reply,
    ResetRequest,
)

_ENDING = (errors.CapacityReached, errors.FactoryError, errors.SessionError)
"""What a server says just before it closes the connection."""


class SessionState(Enum):
    """Where a session stands."""

    UNCONNECTED = "unconnected"
    """No connection was opened yet."""
    READY = "ready"
    """Connected, and no request is open."""
    WAITING = "waiting"
    """One request is open."""
    LOST = "lost"
    """The connection is gone or poisoned: only a reset may follow, on a new connection."""
    CLOSED = "closed"
    """Closed by its owner, for good."""


# A member of an enum, looked up by its name, takes as long as a rule: these are for what runs once a message.
_READY, _WAITING = SessionState.READY, SessionState.WAITING


def lost_session(call: str, cause: errors.OpenEnvGymError | None) -> errors.SessionLost:
    """The error of a call whose session is gone, which tells why."""
    reason = f" ({cause})" if cause else ""
    error = errors.SessionLost(f"The session is lost{reason}. {call}() would meet another episode: call reset() first.")
    error.__cause__ = cause
    return error


class ClientSession:
    """The state of one session, seen from its client.

    A shell around it opens the connection, calls ``connected``, writes what ``request`` returns, and gives what
    it reads to ``receive``. It calls ``lost`` when the connection broke and ``abandon`` when it stops waiting.

    Attributes:
        state: Where the session stands.
        cause: Why the session is lost, or the reason that the server gave for ending it.
    """

    def __init__(self) -> None:
        self.state = SessionState.UNCONNECTED
        self.cause: errors.OpenEnvGymError | None = None
        self._open: AnyRequest | None = None

    @property
    def needs_connection(self) -> bool:
        """Whether a connection has to be opened before a request may be written."""
        return self.state in (SessionState.UNCONNECTED, SessionState.LOST)

    def check(self, request: AnyRequest) -> None:
        """Refuses a request that the state does not allow; called before a connection is opened for it.

        Raises:
            ClientClosed: The client was closed.
            SessionLost: The session is lost and the request is not a reset.
            UnexpectedReply: Another request is open: the shell must queue its calls.
        """
        if self.state is SessionState.CLOSED:
            raise errors.ClientClosed(f"This client is closed; {request.type}() needs a new one.")
        if self.state is SessionState.WAITING:
            raise errors.UnexpectedReply("A request is open already; its reply has to be read first.")
        if self.state is SessionState.LOST and not isinstance(request, ResetRequest):
            raise lost_session(request.type, self.cause)

    def connected(self) -> None:
        """Notes that a new connection is open."""
        self.state = SessionState.READY
        self.cause = None

    def request(self, request: AnyRequest) -> str:
        """Opens a request.

        Returns:
            The frame to write.
        """
        if self.state is not _READY:
            self.check(request)
        frame = codec.encode_request(request)
        if type(request) is not CloseRequest:  # isinstance asks pydantic, which takes its time
            self._open = request
            self.state = _WAITING
        return frame

    def receive(self, frame: str | bytes) -> Reply:
        """Reads the reply to the open request.

        Returns:
            The reply, of the kind that the request asked for.

        Raises:
            OpenEnvGymError: The error that the server answered, or a reply that breaks the wire's rules. After
                the latter the session is lost, because no later frame could be matched to its request.
        """
        try:
            reply = codec.decode_reply(frame)
        except errors.ProtocolFailure as error:
            self._lose(error)
            raise
        asked_for = self._open
        if asked_for is not None and type(reply) is ANSWER_OF[type(asked_for)]:
            self._open = None
            self.state = _READY
            return reply
        raise self._refused(reply) if isinstance(reply, ErrorReply) else self._mismatched(reply)

    def lost(self, error: errors.OpenEnvGymError) -> errors.OpenEnvGymError:
        """Notes that the connection broke.

        Returns:
            The error to raise: what the server said before it closed, when it said something.
        """
        told = error if self.cause is None else errors.copied(self.cause)
        self._lose(told)
        return told

    def abandon(self, error: errors.OpenEnvGymError) -> None:
        """Gives up the open request, so that its late reply can reach no other. The shell closes the connection."""
        self._lose(error)

    def close(self) -> None:
        """Ends the session for good."""
        self._open = None
        self.state = SessionState.CLOSED

    def _refused(self, reply: ErrorReply) -> errors.OpenEnvGymError:
        error = codec.error_from_reply(reply.data)
        unasked = self._open is None
        self._open = None
        if isinstance(error, _ENDING) or unasked:
            # The server closes next. A refusal may come before our first frame: it answers that one.
            self._lose(error)
        else:
            self.state = SessionState.READY
        return error

    def _mismatched(self, reply: Reply) -> errors.UnexpectedReply:
        asked = f"a {self._open.type} request" if self._open else "no request"
        mismatch = errors.UnexpectedReply(f"The server sent a reply of type {reply.type!r} to {asked}.")
        self._lose(mismatch)
        return mismatch

    def _lose(self, error: errors.OpenEnvGymError) -> None:
        self._open = None
        if self.state is not SessionState.CLOSED:
            self.state = SessionState.LOST
            # A copy: the error itself, once raised, would keep alive whoever caught it, and so this session.
            self.cause = errors.copied(error)
