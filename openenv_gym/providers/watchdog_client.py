"""A user's end of the socket to the watchdog: finds or starts the watchdog, and speaks for one server.

Safe across a fork: the child closes its copies of the parent's sockets and makes its own when it needs one.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from openenv_gym_protocol import errors
from openenv_gym_protocol.errors import OpenEnvGymError, ProviderError, ServerStartError

from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.location import PoolLocation, pool_location
from openenv_gym.providers.watchdog.bounded_log import tail
from openenv_gym.providers.watchdog.servers import GRACE_SECONDS
from openenv_gym.providers.watchdog_start import started_watchdog

_logger = logging.getLogger("openenv_gym")

_CHUNK = 65536
_PAUSE_SECONDS = 0.02
_REPLY_SECONDS = 10.0
_KEEPER_SECONDS = 30.0
_STOP_SECONDS = GRACE_SECONDS + 18.0
"""Many containers that are stopped at once take their engine a while."""


class WatchdogGone(Exception):
    """The watchdog ended while it was asked something: a new one can be started."""


class WatchdogSilent(WatchdogGone):
    """It did not answer in time; for its user that is mostly the same."""


class Ready(NamedTuple):
    """A server that another user has started."""

    base_url: str
    token: str | None


class WatchdogClient:
    """One connection to a pool's watchdog, which stands for the use of one server.

    Implements ``Owner`` for whoever starts the server.

    Args:
        location: The pool.
        connected: The socket.
    """

    def __init__(self, location: PoolLocation, connected: socket.socket) -> None:
        self.server_id = ""
        self._pid = os.getpid()
        self._location = location
        self._socket = connected
        self._received = b""
        self._exit_code: int | None = None
        self._found_by: list[str] = []
        self._is_left = False
        self._was_shut_down = False
        self._close = weakref.finalize(self, connected.close)
        _open_sockets.add(connected)

    @classmethod
    def connect(cls, deadline: Deadline) -> WatchdogClient:
        """Connects to the watchdog of this process tree, which is started if there is none.

        Raises:
            ProviderError: It could not be started.
        """
        while True:
            location = _pool_location()
            client = cls.connect_to_running(location)
            if client is not None:
                return client
            if deadline.passed:
                raise ProviderError(f"No watchdog could be reached at {location.socket} in time.")
            if not started_watchdog(location):
                time.sleep(_PAUSE_SECONDS)

    @classmethod
    def connect_to_running(cls, location: PoolLocation) -> WatchdogClient | None:
        """Connects to a pool's watchdog, or returns None when it has none.

        Raises:
            ProviderError: This process has no descriptor left.
        """
        try:
            with _fork_lock:
                return cls._try_to_connect(location)
        except OSError as error:
            raise ProviderError(f"The pool at {location.directory} cannot be reached: {error}.") from error

    @classmethod
    def _try_to_connect(cls, location: PoolLocation) -> WatchdogClient | None:
        if not location.is_private():
            return None
        connecting = socket.socket(socket.AF_UNIX)
        connecting.settimeout(_REPLY_SECONDS)
        try:
            connecting.connect(str(location.socket))
        except OSError:
            connecting.close()
            return None
        return cls(location, connecting)

    def acquire(self, key: str | None, linger: float, deadline: Deadline, tick: Callable[[], None]) -> Ready | None:
        """Asks for the server of a key.

        Args:
            key: The sharing key; None for a server of one's own.
            linger: Seconds that it may outlive its last user.
            deadline: Until when to wait for another user who is starting it.
            tick: Called now and then while waiting.

        Returns:
            The server; or None: this user has to start it.

        Raises:
            WatchdogGone: Try again with a new connection.
            OpenEnvGymError: The other user's failure to start it.
        """
        self._send("acquire", key=key, linger=linger)
        is_taken = False
        while True:
            message = self._receive(deadline.remaining(at_most=0.5))
            if message is None:
                tick()
                if not deadline.passed:
                    continue
                if is_taken:
                    raise ServerStartError(f"The server did not become ready within {deadline.seconds:g} s.")
                raise WatchdogSilent
            match message["event"]:
                case "waiting":
                    is_taken = True
                case "failed":
                    raise _failure_from_json(message["error"])
                case "start" | "ready" as event:
                    self.server_id = message["server_id"]
                    return Ready(message["base_url"], message["token"]) if event == "ready" else None

    def spawn(self, argv: list[str], *, cwd: str, env: Mapping[str, str], deadline: Deadline) -> int:
        """See ``Owner.spawn``."""
        with self._as_start_error(deadline):
            self._send("spawn", argv=argv, cwd=cwd, env=dict(env))
            message = self._await("spawned", "refused", seconds=deadline.remaining(at_most=_REPLY_SECONDS))
        if message["event"] == "refused":
            raise ProviderError(f"{argv[0]} could not be run in {cwd}: {message['message']}")
        return int(message["port"])

    def keep(self, argv: list[str], *, env: Mapping[str, str], key: str, deadline: Deadline) -> None:
        """See ``Owner.keep``."""
        with self._as_start_error(deadline):
            self._send("keep", argv=argv, env=dict(env), key=key)
            message = self._await("kept", "refused", seconds=deadline.remaining(at_most=_KEEPER_SECONDS))
        if message["event"] == "refused":
            raise ProviderError(f"What has to end the server, {argv}, could not be run: {message['message']}")

    def kept_started(self) -> None:
        """See ``Owner.kept_started``."""
        with self._as_start_error():
            self._send("started")

    def exit_code(self, wait: float = 0.0) -> int | None:
        """See ``Owner.exit_code``."""
        if self._exit_code is None:
            with self._as_start_error():
                self._receive(wait)
        return self._exit_code

    def ready(self, base_url: str, token: str | None) -> None:
        """See ``Owner.ready``."""
        if self._exit_code is None:
            with self._as_start_error():
                self._send("ready", base_url=base_url, token=token)
                self._await("ready", "exited", seconds=_REPLY_SECONDS)
        if self._exit_code is not None:
            raise ServerStartError(
                "The server ended as soon as it was ready.", logs=self.logs(), exit_code=self._exit_code
            )

    def fail(self, error: OpenEnvGymError) -> None:
        """Gives up the start; whoever waits for it gets the error. The connection is closed."""
        with contextlib.suppress(WatchdogGone):
            # Without a watchdog nobody waits and nothing is left.
            self._send("failed", error=_failure_to_json(error))
        self.close()

    def is_running(self, linger: float) -> bool:
        """Whether the server still runs; ``linger`` is from now on what this user wishes."""
        try:
            self._send("check", linger=linger)
            return bool(self._await("checked", seconds=_REPLY_SECONDS)["running"])
        except WatchdogGone:
            return False

    def logs(self, lines: int = 100) -> str:
        """See ``Owner.logs``."""
        return tail(self._location.directory / f"{self.server_id}.log", lines)

    def stop(self) -> None:
        """See ``Owner.stop``."""
        self._end("stop")

    def suspect(self) -> None:
        """Says that the server answers nobody; returns when it is gone, for all its users."""
        self._end("suspect")

    def shut_down(self, seconds: float) -> None:
        """Ends every server and the watchdog; returns when they are gone, or after that many seconds.

        What is left then, or could not be ended, is logged as a warning.
        """
        deadline = Deadline(seconds)
        try:
            self._send("shutdown")
            while not deadline.passed:
                self._receive(deadline.remaining())
        except WatchdogGone:
            is_left = self._is_left
        else:
            is_left = True
        self._warn_of_what_is(is_left)
        self.close()

    def close(self) -> None:
        """Ends this use of the server. Idempotent; in a forked child it closes the descriptor only."""
        # Not by calling the finalizer: once the interpreter is ending, that does nothing.
        self._close.detach()
        self._socket.close()

    @property
    def is_mine(self) -> bool:
        """Whether this process made the connection, rather than its parent before a fork."""
        return self._pid == os.getpid()

    def _end(self, op: str) -> None:
        if self._close.alive and self.is_mine:
            is_left = False
            try:
                self._send(op)
                is_left = bool(self._await("stopped", seconds=_STOP_SECONDS)["is_left"])
            except WatchdogSilent:
                is_left = True
            except WatchdogGone:
                # The watchdog does not end before its servers have, as far as they can be ended.
                is_left = self._is_left
            self._warn_of_what_is(is_left)
        self.close()

    def _warn_of_what_is(self, left: bool) -> None:
        if left:
            lists = " and ".join(f"`{command}`" for command in self._found_by)
            _logger.warning(
                "What runs the servers did not answer in time, so not all of them have ended.%s The pool goes on "
                "trying for some seconds; what is left then, the next pool there ends.",
                f" {lists} lists what is left." if lists else "",
            )

    def _send(self, op: str, **data: Any) -> None:
        try:
            self._socket.settimeout(_REPLY_SECONDS)
            self._socket.sendall(json.dumps({"op": op, **data}).encode() + b"\n")
        except OSError as error:
            raise WatchdogGone from error

    def _await(self, *events: str, seconds: float) -> dict[str, Any]:
        deadline = Deadline(seconds)
        while not deadline.passed:
            message = self._receive(deadline.remaining())
            if message is not None and message["event"] in events:
                return message
        # It is stopped or stuck.
        raise WatchdogSilent

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        deadline = Deadline(seconds)
        while b"\n" not in self._received:
            try:
                self._socket.settimeout(max(deadline.remaining(), 1e-3))
                data = self._socket.recv(_CHUNK)
            except TimeoutError:
                return None
            except OSError as error:
                raise WatchdogGone from error
            if not data:
                raise WatchdogGone
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        match message["event"]:
            case "exited":
                self._exit_code = int(message["exit_code"])
            case "kept" | "ending":
                self._found_by = message["found_by"]
            case "left":
                self._is_left = True
            case "shutdown":
                self._was_shut_down = True
        return message

    @contextlib.contextmanager
    def _as_start_error(self, deadline: Deadline | None = None) -> Any:
        gone: WatchdogGone | None = None
        try:
            yield
        except WatchdogGone as error:
            gone = error
        if isinstance(gone, WatchdogSilent) and not self._was_shut_down:
            # It has much to do, or all has: nobody has ended it.
            if deadline is not None and deadline.passed:
                raise ServerStartError(f"The server did not become ready within {deadline.seconds:g} s.") from gone
            raise ServerStartError("The pool's watchdog did not answer in time while a server was starting.") from gone
        if gone is not None or self._was_shut_down:
            raise ServerStartError("The pool was shut down while the server was starting.") from gone


def own_server(deadline: Deadline) -> WatchdogClient:
    """Opens a connection whose server is nobody else's: it ends with this process, or when it is stopped."""
    while True:
        client = WatchdogClient.connect(deadline)
        try:
            client.acquire(None, 0.0, deadline, tick=lambda: None)
            return client
        except WatchdogGone:
            client.close()
            pause_before_another(deadline)


def pause_before_another(deadline: Deadline) -> None:
    """Waits a moment before a watchdog that has just gone is looked for anew.

    Raises:
        ProviderError: There is no time left: the one that is there takes nobody any more.
    """
    if deadline.passed:
        raise ProviderError(
            "The pool takes nobody: it was shut down before and is still ending its servers, because what runs them "
            "does not answer, or this machine is too busy. For containers: does `docker info`?"
        )
    time.sleep(_PAUSE_SECONDS)


def _pool_location() -> PoolLocation:
    try:
        return pool_location()
    except OSError as error:
        raise ProviderError(f"The pool cannot be found: {error}.") from error


def _failure_to_json(error: OpenEnvGymError) -> dict[str, Any]:
    data = {"type": type(error).__name__, "message": error.message}
    if isinstance(error, ServerStartError):
        return {**data, "logs": error.logs, "exit_code": error.exit_code}
    return data


def _failure_from_json(data: Mapping[str, Any]) -> OpenEnvGymError:
    kind = getattr(errors, data["type"], ServerStartError)
    if kind is ServerStartError:
        return ServerStartError(data["message"], logs=data.get("logs", ""), exit_code=data.get("exit_code"))
    failure: OpenEnvGymError = kind(data["message"])
    return failure


_open_sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
_fork_lock = threading.RLock()
"""Held while a socket is made, so that no fork falls between making it and knowing it."""


def _close_inherited() -> None:
    # While the child held a copy, the watchdog would not see the end of the parent.
    global _fork_lock
    _fork_lock = threading.RLock()
    for inherited in list(_open_sockets):
        inherited.close()
    _open_sockets.clear()


os.register_at_fork(
    before=lambda: _fork_lock.acquire(),
    after_in_parent=lambda: _fork_lock.release(),
    after_in_child=_close_inherited,
)
