"""Which servers there are, who uses each, and when each has to end. No input and no output happens here."""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Protocol

GRACE_SECONDS = 2.0
"""How long a server may take to end when asked, before it is killed."""

DEAF_SECONDS = 60.0
"""How long what was killed may take to be gone, before who had to end it is taken for deaf. An engine's calls and the
tries of its keeper take half of that."""


class User(Protocol):
    """A connection of a process that uses a server."""

    def tell(self, event: str, **data: Any) -> None:
        """Sends a message without waiting."""


class Resource(Protocol):
    """What is owned for a server: a process, or what a keeper keeps."""

    def signal(self, number: int) -> None:
        """Asks it to end (SIGTERM) or ends it (SIGKILL)."""

    def note_not_gone(self) -> None:
        """It should be gone since long: whoever had to end it does not answer."""


class Phase(Enum):
    """Where a server is in its life."""

    STARTING = auto()
    READY = auto()
    ENDING = auto()


@dataclass(eq=False)
class Server:
    """A server and its users.

    Attributes:
        key: What equal requests have in common; None when it is its starter's own.
        starter: The user who starts it, among the users.
        linger: Seconds that it outlives its last user; as the latest user wished.
        users: Those who use it or wait for it, in the order they came.
        is_killed: Whether it was told to end at once.
        is_left: Whether it was given up before it was gone.
        ends_at: When it has to end for want of users, or be killed when it is ending already, or be gone when killed.
        exit_code: How its process or what was kept ended, if it did.
        waiting_for_end: Who is told when it is gone.
    """

    key: str | None
    starter: User
    linger: float
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    phase: Phase = Phase.STARTING
    users: dict[User, None] = field(default_factory=dict)
    resource: Resource | None = None
    exit_code: int | None = None
    is_killed: bool = False
    is_left: bool = False
    base_url: str = ""
    token: str | None = None
    ends_at: float | None = None
    waiting_for_end: list[User] = field(default_factory=list)

    @property
    def is_ready(self) -> bool:
        """Whether it can be handed out."""
        return self.phase is Phase.READY and self.exit_code is None

    def may_be_spawned_by(self, user: User) -> bool:
        """Whether its process may be run now, or something kept, by the user who starts it."""
        begun = self.resource is not None or self.exit_code is not None
        return self.starter is user and self.phase is Phase.STARTING and not begun


class Servers:
    """All servers of a pool.

    Args:
        now: A clock, in seconds.

    Attributes:
        has_left_some: Whether one was given up before it was gone.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.has_left_some = False
        self._now = now
        self._all: dict[str, Server] = {}
        self._of_user: dict[User, Server] = {}

    def __iter__(self) -> Iterator[Server]:
        return iter(list(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)

    def of(self, user: User) -> Server | None:
        """The server that a connection uses, starts or waits for."""
        return self._of_user.get(user)

    def acquire(self, user: User, key: str | None, linger: float) -> None:
        """Gives a user the server of a key, makes it that server's starter, or lets it wait for the starter."""
        server = self._shared(key)
        if server is None:
            self._begin(key, linger, {user: None})
            return
        server.users[user] = None
        server.linger = linger
        self._of_user[user] = server
        if server.phase is Phase.READY:
            server.ends_at = None
            _tell_ready(server, user)
        else:
            user.tell("waiting")

    def ready(self, user: User, base_url: str, token: str | None) -> None:
        """The starter says that its server answers; all its users are told, the starter among them."""
        server = self._started_by(user)
        if server is None or server.exit_code is not None:
            # It has ended in the meantime, which the starter was told.
            return
        server.phase, server.base_url, server.token = Phase.READY, base_url, token
        for each in server.users:
            _tell_ready(server, each)

    def failed(self, user: User, error: dict[str, Any]) -> None:
        """The starter gives up; whoever waited is told why."""
        server = self._started_by(user)
        if server is None:
            return
        for other in list(server.users):
            if other is not user:
                other.tell("failed", error=error)
            self._detach(other)
        self.end(server)

    def leave(self, user: User) -> None:
        """A connection came to its end."""
        server = self._of_user.get(user)
        if server is None:
            return
        self._detach(user)
        if server.phase is Phase.READY and not server.users:
            server.ends_at = self._now() + server.linger
        elif server.phase is Phase.STARTING and server.starter is user:
            # Its starter died in the middle: what it began is of unknown state, so the next one begins again.
            waiting, server.users = server.users, {}
            self.end(server)
            if waiting:
                self._begin(server.key, server.linger, waiting)

    def end(self, server: Server, waiting: User | None = None) -> None:
        """Ends a server, which from now on is handed to nobody."""
        if waiting is not None:
            server.waiting_for_end.append(waiting)
        if server.resource is None:
            self._forget(server)
        elif server.phase is not Phase.ENDING:
            # One that never was ready has no session to end in good order.
            server.resource.signal(signal.SIGKILL if server.phase is Phase.STARTING else signal.SIGTERM)
            server.ends_at = self._now() + GRACE_SECONDS
        server.phase = Phase.ENDING

    def ended(self, server: Server, exit_code: int, *, is_left: bool = False) -> None:
        """A server's process, or what was kept for it, has ended, by itself or because it had to.

        Args:
            server: The server.
            exit_code: How it has ended.
            is_left: Whether it could not be ended after all, and nothing more is done about it.
        """
        server.resource, server.exit_code, server.is_left = None, exit_code, is_left
        self.has_left_some |= is_left
        if server.phase is Phase.STARTING:
            server.starter.tell("exited", exit_code=exit_code)
            return
        for user in server.users:
            user.tell("exited", exit_code=exit_code)
        self._forget(server)

    def end_those_due(self) -> None:
        """Ends servers whose linger is over, kills those that did not end when asked, and tells of what stays."""
        for server in self:
            if server.ends_at is None or server.ends_at > self._now():
                continue
            if server.phase is Phase.READY:
                self.end(server)
            elif server.resource is None:
                server.ends_at = None
            elif server.is_killed:
                server.ends_at = self._now() + DEAF_SECONDS
                server.resource.note_not_gone()
            else:
                server.ends_at, server.is_killed = self._now() + DEAF_SECONDS, True
                server.resource.signal(signal.SIGKILL)

    def seconds_until_due(self) -> float | None:
        """How long ``end_those_due`` has nothing to do; None for ever."""
        due = [server.ends_at for server in self if server.ends_at is not None]
        return max(0.0, min(due) - self._now()) if due else None

    def _shared(self, key: str | None) -> Server | None:
        if key is None:
            return None
        return next((server for server in self if server.key == key and server.phase is not Phase.ENDING), None)

    def _started_by(self, user: User) -> Server | None:
        server = self._of_user.get(user)
        return server if server is not None and server.starter is user and server.phase is Phase.STARTING else None

    def _begin(self, key: str | None, linger: float, users: dict[User, None]) -> None:
        starter = next(iter(users))
        server = Server(key, starter, linger, users=dict(users))
        self._all[server.id] = server
        self._of_user.update(dict.fromkeys(users, server))
        starter.tell("start", server_id=server.id)

    def _detach(self, user: User) -> None:
        server = self._of_user.pop(user, None)
        if server is not None:
            server.users.pop(user, None)

    def _forget(self, server: Server) -> None:
        self._all.pop(server.id, None)
        for user in server.waiting_for_end:
            user.tell("stopped", is_left=server.is_left)


def _tell_ready(server: Server, user: User) -> None:
    user.tell("ready", server_id=server.id, base_url=server.base_url, token=server.token)
