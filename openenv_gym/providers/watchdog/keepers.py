"""Keepers: programs that end what is no process of this machine, such as containers, for the watchdog.

A keeper is run with the pool's directory as its last argument and a socket as its standard input, on which JSON
objects go both ways, one a line. It writes a server's log into the pool's directory. It ends when the socket comes to
its end of file, after it has ended all that it kept:

===========================  ====================================================  ===================================
to a keeper                  what it has to do                                     what it answers
===========================  ====================================================  ===================================
``keep server_id``           see to the end of what is made for that server        ``kept`` (server_id)
``follow server_id``         it runs: follow its log and notice its end            ``exited``, when it has ended
``stop server_id``           ask it to end                                         ``exited``, when it is gone
``kill server_id settled``   end it; not settled: it may still be about to be      ``exited``, when it is gone
                             made, by a request that nobody waits for any more
===========================  ====================================================  ===================================

``exited`` (server_id, exit_code, is_left) comes once, when nothing of the server is left, or, if ``is_left``, when it
could not be ended. ``kept`` says by ``found_by`` how people find what is kept. ``found`` (server_ids) comes when the
keeper has looked around: what is labelled as this pool's and what it was not told to keep.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openenv_gym.providers.watchdog.bounded_log import tail
from openenv_gym.providers.watchdog.connection import Connection
from openenv_gym.providers.watchdog.orphans import KEEPER_VARIABLE
from openenv_gym.providers.watchdog.servers import DEAF_SECONDS, Server, Servers

LOST_EXIT_CODE = -signal.SIGKILL
"""How a server has ended of which nobody can tell any more."""

_MOST_REPLACEMENTS = 5
_REPLACEMENTS_SECONDS = 60.0
"""A keeper that dies more often than that in this time dies of what it is told."""

_LEAVE_SECONDS = 0.5
"""How long a keeper that keeps nothing more is waited for before it is left to itself."""


class KeptServer:
    """What a keeper keeps for a server: its resource.

    Attributes:
        server: The server.
        is_kept: Whether the keeper has said that it keeps it.
        is_started: Whether its starter has said that it runs.
        is_settled: Whether nothing more can be made for it: it runs, or its starter has given up by itself.
    """

    def __init__(self, server: Server, keeper: _Keeper) -> None:
        self.server = server
        self.is_kept = False
        self.is_started = False
        self.is_settled = False
        self._keeper = keeper
        self._ending: int | None = None

    def signal(self, number: int) -> None:
        """Asks it to end (SIGTERM) or ends it (SIGKILL)."""
        self._ending = number
        self.tell_end()

    def note_not_gone(self) -> None:
        """Its keeper is deaf."""
        self._keeper.note_deaf()

    def start(self) -> None:
        """Its starter says that it runs."""
        self.is_started = self.is_settled = True
        self.tell_start()

    def tell_all(self) -> None:
        """Tells a keeper that knows nothing of it."""
        self._keeper.tell("keep", server_id=self.server.id)
        self.tell_start()
        self.tell_end()

    def tell_start(self) -> None:
        """Tells the keeper that it runs, if it does."""
        if self.is_started:
            self._keeper.tell("follow", server_id=self.server.id)

    def tell_end(self) -> None:
        """Tells the keeper how it has to end, if it has to."""
        if self._ending == signal.SIGKILL:
            self._keeper.tell("kill", server_id=self.server.id, settled=self.is_settled)
        elif self._ending is not None:
            self._keeper.tell("stop", server_id=self.server.id)


class Keepers:
    """All keepers of a pool: one for each key.

    Args:
        directory: The pool's directory.
        servers: The pool's servers.
        selector: Where the keepers' sockets are waited for; what is registered with each is to be called.
    """

    def __init__(self, directory: Path, servers: Servers, selector: selectors.BaseSelector) -> None:
        self._directory = directory
        self._servers = servers
        self._selector = selector
        self._all: dict[str, _Keeper] = {}

    def keep(self, server: Server, key: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Has a server kept; its starter is told ``kept``, or ``refused`` when the program dies.

        Raises:
            OSError: The program could not be run.
        """
        if key not in self._all or self._all[key].pid is None:
            # In place of one that has died and keeps nothing: what it was run with may have been to blame.
            command = [*argv, str(self._directory)]
            self._all[key] = _Keeper(command, env, self._servers, self._selector)
        self._all[key].keep(server)

    def pids(self) -> list[int]:
        """Process ids of those that run."""
        return [keeper.pid for keeper in self._all.values() if keeper.pid is not None]

    def found_by(self) -> list[str]:
        """How people find what they keep."""
        return [keeper.found_by for keeper in self._all.values() if keeper.found_by]

    def leave(self) -> None:
        """Has them end, once they keep nothing."""
        for keeper in self._all.values():
            keeper.leave()


class _Keeper:
    """One keeper. When its process dies, another takes its place."""

    def __init__(
        self, command: list[str], env: Mapping[str, str], servers: Servers, selector: selectors.BaseSelector
    ) -> None:
        self._command = command
        self._env = {**env, KEEPER_VARIABLE: command[-1]}
        self._servers = servers
        self._selector = selector
        self.found_by = ""
        self._kept: dict[str, KeptServer] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._has_answered = False
        self._began = 0.0
        self._is_deaf = False
        self._was_deaf = False
        self._replaced_at: collections.deque[float] = collections.deque(maxlen=_MOST_REPLACEMENTS)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def keep(self, server: Server) -> None:
        if self._process is None:
            self._run()
        server.resource = self._kept[server.id] = kept = KeptServer(server, self)
        kept.tell_all()

    def tell(self, event: str, **data: Any) -> None:
        if self._connection is not None:
            self._connection.tell(event, **data)

    def note_deaf(self) -> None:
        """Its process is killed: another takes its place, unless that is one itself."""
        # One that has only just taken the place may still be at what the one before it did not do.
        if self._process is not None and time.monotonic() - self._began >= DEAF_SECONDS:
            self._is_deaf = True
            self._process.kill()

    def leave(self) -> None:
        if self._process is None or self._connection is None:
            return
        self._selector.unregister(self._connection.socket)
        self._connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_SECONDS)

    def _run(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    self._command, cwd="/", env=self._env, stdin=theirs.fileno(), stdout=2, start_new_session=True
                )
            except OSError:
                ours.close()
                raise
        self._began = time.monotonic()
        self._has_answered = False
        self._was_deaf, self._is_deaf = self._is_deaf, False
        self._connection = Connection(ours)
        self._selector.register(ours, selectors.EVENT_READ, functools.partial(self._hear, self._connection))

    def _hear(self, connection: Connection) -> None:
        try:
            for message in connection.messages():
                self._obey(message)
        except (ValueError, KeyError, TypeError):
            # Not a keeper as agreed.
            connection.is_open = False
        if not connection.is_open:
            self._selector.unregister(connection.socket)
            connection.close()
            self._lost()

    def _obey(self, message: dict[str, Any]) -> None:
        match message["event"]:
            case "kept":
                self._has_answered = True
                self.found_by = str(message.get("found_by", ""))
                kept = self._kept.get(message["server_id"])
                if kept is not None and not kept.is_kept:
                    kept.is_kept = True
                    kept.server.starter.tell("kept", found_by=[self.found_by] if self.found_by else [])
            case "exited":
                is_left = bool(message.get("is_left"))
                self._ended(message["server_id"], int(message["exit_code"]), is_left=is_left)
            case "found":
                # What an earlier watchdog of the same pool had made.
                for server_id in set(message["server_ids"]) - {server.id for server in self._servers}:
                    self.tell("kill", server_id=server_id, settled=True)
            case _:
                raise ValueError("unknown event")

    def _ended(self, server_id: str, exit_code: int, *, is_left: bool = False) -> None:
        kept = self._kept.pop(server_id, None)
        if kept is not None:
            self._servers.ended(kept.server, exit_code, is_left=is_left)

    def _lost(self) -> None:
        """Its process has died: what it kept is given to another, unless that would not help."""
        assert self._process is not None
        self._process.kill()
        exit_code, self._process, self._connection = self._process.wait(), None, None
        if self._kept and self._may_be_replaced() and self._runs_again():
            for kept in list(self._kept.values()):
                kept.tell_all()
            return
        said = tail(Path(self._command[-1]) / "watchdog.log", 5)
        for kept in list(self._kept.values()):
            if not kept.is_kept:
                kept.server.starter.tell("refused", message=f"it ended with {exit_code}\n{said}")
            # What was made for it has its labels, by which a later keeper finds it.
            self._ended(kept.server.id, LOST_EXIT_CODE, is_left=kept.is_kept)

    def _may_be_replaced(self) -> bool:
        times = self._replaced_at
        dies_often = len(times) == times.maxlen and time.monotonic() - times[0] < _REPLACEMENTS_SECONDS
        stays_deaf = self._is_deaf and self._was_deaf
        return self._has_answered and not dies_often and not stays_deaf

    def _runs_again(self) -> bool:
        self._replaced_at.append(time.monotonic())
        try:
            self._run()
        except OSError:
            return False
        return True
