"""The watchdog's loop: waits for users, servers and the root, and tells ``Servers`` what happened."""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import selectors
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from openenv_gym.providers.location import PoolLocation
from openenv_gym.providers.watchdog.connection import Connection
from openenv_gym.providers.watchdog.guard import run_guarded
from openenv_gym.providers.watchdog.keepers import Keepers, KeptServer
from openenv_gym.providers.watchdog.leftovers import (
    end_leftover_servers,
    reap,
    remove_directory,
    try_lock,
)
from openenv_gym.providers.watchdog.orphans import adopt_orphans, end_orphans
from openenv_gym.providers.watchdog.owned_process import OwnedProcess
from openenv_gym.providers.watchdog.root import POLL_SECONDS, Root
from openenv_gym.providers.watchdog.servers import Phase, Server, Servers

_IDLE_SECONDS = 5.0
"""A watchdog without servers and users ends after this long; the next user starts another."""

_REMOVAL_SECONDS = 1.0
"""How long the directory's lock is tried for at the end, should a starter hold it."""

_PAUSE_SECONDS = 0.02

_MOST_DESCRIPTORS = 65536
"""Each user and each session of a server is a descriptor; the usual limit of 1,024 is a shell's habit."""


class Watchdog:
    """Owns the servers of one pool until its root ends, it is told to end, or nobody needs it."""

    def __init__(self, location: PoolLocation, listener: socket.socket) -> None:
        self._location = location
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._servers = Servers()
        self._processes: dict[Server, OwnedProcess] = {}
        self._keepers = Keepers(location.directory, self._servers, self._selector)
        self._ended_ids: set[str] = set()
        self._users: set[Connection] = set()
        self._root = Root(location)
        self._ending = False
        self._idle_since = time.monotonic()
        self._was_busy = False

    def run(self) -> None:
        """Serves until the end; then nothing that it owned is left."""
        self._watch(self._listener, self._accept)
        signals = _signal_socket(self._end_all)
        self._watch(signals, functools.partial(self._signal_came, signals))
        if self._root.fd is not None:
            self._watch(self._root.fd, self._root_ended)
        while not self._is_finished():
            for ready, _ in self._selector.select(self._seconds_to_sleep()):
                ready.data()
            self._after_events()
        self._leave()

    def _watch(self, source: Any, action: Callable[[], None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, action)

    def _root_ended(self) -> None:
        # Heard once: its descriptor says so for ever.
        assert self._root.fd is not None
        self._selector.unregister(self._root.fd)
        self._end_all()

    def _after_events(self) -> None:
        if not self._ending and self._root.has_ended():
            self._end_all()
        self._servers.end_those_due()
        busy = bool(self._servers or self._users)
        if busy or self._was_busy:
            self._idle_since = time.monotonic()
        self._was_busy = busy

    def _is_finished(self) -> bool:
        return not self._servers and (self._ending or self._idle_seconds_left() <= 0.0)

    def _idle_seconds_left(self) -> float:
        return self._idle_since + _IDLE_SECONDS - time.monotonic()

    def _seconds_to_sleep(self) -> float | None:
        due = self._servers.seconds_until_due()
        bounds = [] if due is None else [due]
        if self._root.fd is None:
            bounds.append(POLL_SECONDS)
        if not self._servers and not self._users:
            bounds.append(max(0.0, self._idle_seconds_left()))
        return min(bounds, default=None)

    def _accept(self) -> None:
        try:
            connected, _ = self._listener.accept()
        except OSError:
            # No descriptor is free: the user waits in the queue until one is.
            time.sleep(_PAUSE_SECONDS)
            return
        if self._ending:
            connected.close()
            return
        user = Connection(connected)
        self._users.add(user)
        self._watch(connected, functools.partial(self._hear, user))

    def _hear(self, user: Connection) -> None:
        try:
            for message in user.messages():
                self._obey(user, message)
        except (ValueError, KeyError, TypeError):
            # Whoever does not speak as agreed is of another version, and no user of ours.
            user.is_open = False
        if not user.is_open:
            self._selector.unregister(user.socket)
            self._users.discard(user)
            user.close()
            self._servers.leave(user)

    def _obey(self, user: Connection, message: dict[str, Any]) -> None:
        match message["op"]:
            case "acquire" | "spawn" | "keep" if self._ending:
                # A server begun now would keep the watchdog, which takes no more users, from its end.
                user.is_open = False
            case "acquire":
                self._servers.acquire(user, message["key"], float(message["linger"]))
            case "spawn" | "keep" | "started" | "ready" | "failed":
                self._obey_starter(user, message)
            case "check":
                self._check(user, float(message["linger"]))
            case "suspect" | "stop":
                self._stop(user, signal.SIGKILL if message["op"] == "suspect" else signal.SIGTERM)
            case "shutdown":
                user.tell("ending", found_by=self._keepers.found_by())
                self._end_all()
            case _:
                raise ValueError("unknown op")

    def _obey_starter(self, user: Connection, message: dict[str, Any]) -> None:
        match message["op"]:
            case "spawn":
                self._spawn(user, message)
            case "keep":
                self._keep(user, message)
            case "started":
                self._started(user)
            case "ready":
                self._servers.ready(user, message["base_url"], message["token"])
            case "failed":
                self._settle(user)
                self._servers.failed(user, message["error"])

    def _spawn(self, user: Connection, message: dict[str, Any]) -> None:
        server = self._server_to_start(user)
        try:
            process = OwnedProcess(server.id, self._location.directory, message["argv"], message["cwd"], message["env"])
        except OSError as error:
            user.tell("refused", message=str(error))
            return
        server.resource = self._processes[server] = process
        self._watch(process.output_fd, functools.partial(self._pump, process))
        user.tell("spawned", **process.facts())

    def _keep(self, user: Connection, message: dict[str, Any]) -> None:
        try:
            self._keepers.keep(self._server_to_start(user), message["key"], message["argv"], message["env"])
        except OSError as error:
            user.tell("refused", message=str(error))

    def _server_to_start(self, user: Connection) -> Server:
        server = self._servers.of(user)
        if server is None or not server.may_be_spawned_by(user):
            raise ValueError("nothing to start")
        return server

    def _started(self, user: Connection) -> None:
        kept = self._kept_by(user)
        if kept is not None:
            kept.start()

    def _settle(self, user: Connection) -> None:
        kept = self._kept_by(user)
        if kept is not None:
            kept.is_settled = True

    def _kept_by(self, starter: Connection) -> KeptServer | None:
        server = self._servers.of(starter)
        kept = server.resource if server is not None and server.starter is starter else None
        return kept if isinstance(kept, KeptServer) else None

    def _check(self, user: Connection, linger: float) -> None:
        self._children_ended()
        server = self._servers.of(user)
        if server is not None:
            server.linger = linger
        user.tell("checked", running=server is not None and server.is_ready)

    def _stop(self, user: Connection, number: int) -> None:
        self._settle(user)
        server = self._servers.of(user)
        if server is None or server not in set(self._servers):
            user.tell("stopped", is_left=False)
            return
        self._servers.end(server, waiting=user)
        if server.resource is not None and number == signal.SIGKILL:
            server.resource.signal(number)

    def _pump(self, process: OwnedProcess) -> None:
        if not process.pump_output():
            self._selector.unregister(process.output_fd)

    def _signal_came(self, signals: socket.socket) -> None:
        signals.recv(4096)
        self._children_ended()

    def _children_ended(self) -> None:
        for server, process in list(self._processes.items()):
            # Its output's descriptor is closed with it and may be another's at once.
            fd = process.output_fd
            if process.has_ended() and process.exit_code is not None:
                with contextlib.suppress(KeyError):
                    # Unregistered already when the process closed its output before it ended.
                    self._selector.unregister(fd)
                del self._processes[server]
                self._ended_ids.add(server.id)
                self._servers.ended(server, process.exit_code)
        if self._ended_ids:
            servers = [process.pid for process in self._processes.values()]
            end_orphans([*servers, *self._keepers.pids()], self._ended_ids)

    def _end_all(self) -> None:
        self._ending = True
        for server in self._servers:
            if server.phase is Phase.STARTING:
                # Before it is told how the server has ended, which was for no fault of its own.
                server.starter.tell("shutdown")
            self._servers.end(server)

    def _leave(self) -> None:
        self._keepers.leave()
        give_up = time.monotonic() + _REMOVAL_SECONDS
        while end_orphans((), self._ended_ids) and time.monotonic() < give_up:
            # What they had started are orphans only now.
            time.sleep(0.01)
        removed = False
        while not removed and time.monotonic() < give_up:
            with contextlib.suppress(FileNotFoundError), try_lock(self._location) as taken:
                removed = taken
                if taken:
                    remove_directory(self._location)
            if not removed:
                time.sleep(_PAUSE_SECONDS)
        for user in self._users:
            if self._servers.has_left_some:
                user.tell("left")
            user.close()


def _raise_the_limit_of_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def _signal_socket(on_terminate: Callable[[], None]) -> socket.socket:
    """A socket that can be read when a signal has come."""
    reader, writer = socket.socketpair()
    reader.settimeout(0.0)
    writer.settimeout(0.0)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: on_terminate())
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    return reader


def main(directory: str) -> None:
    """Starts serving a pool in a process of its own; this one ends as soon as the socket listens.

    Args:
        directory: The pool's directory, which exists. The caller holds its lock.
    """
    location = PoolLocation.parse(directory)
    if location is None:
        raise SystemExit(f"{directory} is no pool's directory")
    end_leftover_servers(location)
    location.socket.unlink(missing_ok=True)
    os.umask(0o077)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(location.socket))
    listener.listen(512)
    if os.fork():
        # An orphan is nobody's child: the trainer's own waiting for children never meets it.
        os._exit(0)
    run_guarded(location, listener, _serve)


def _serve(location: PoolLocation, listener: socket.socket) -> None:
    adopt_orphans()
    _raise_the_limit_of_descriptors()
    reap(location.parent)
    Watchdog(location, listener).run()
