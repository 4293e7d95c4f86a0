"""The pool of servers of a process tree: whoever asks for the same server gets the same one.

A process holds one connection to the watchdog for each server that it uses, however many of its threads and
environments use it. The connection is the use: it ends with the process, whatever ends that.
"""

from __future__ import annotations

import asyncio
import atexit
import copy
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from openenv_gym_protocol.errors import ConfigurationError, OpenEnvGymError, ServerStartError, nearest

from openenv_gym.providers.base import Provider, ServerHandle, ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.location import POOL_VARIABLE, PoolLocation, pool_location
from openenv_gym.providers.process import ProcessProvider
from openenv_gym.providers.readiness import Silence, is_dead
from openenv_gym.providers.watchdog_client import WatchdogClient, WatchdogGone, pause_before_another
from openenv_gym.transports.timeouts import Timeouts

START_SECONDS = Timeouts().start
"""How long a server may take until it answers."""

LINGER_SECONDS = 60.0
"""How long a server outlives its last user."""

_SHUTDOWN_SECONDS = 30.0
"""A busy engine takes seconds to remove its containers, and one that is still being made is waited for."""

_PROBE_SECONDS = 1.0


def _docker_provider() -> Provider:
    # Only for those who want it: it has much to load.
    from openenv_gym.providers.docker.provider import DockerProvider

    return DockerProvider()


def _space_provider() -> Provider:
    from openenv_gym.providers.space import SpaceProvider

    return SpaceProvider()


_providers: dict[str, Callable[[], Provider]] = {
    "process": ProcessProvider,
    "docker": _docker_provider,
    "space": _space_provider,
}


def provider_named(name: str) -> Provider:
    """The provider of that name.

    Raises:
        ConfigurationError: There is none; the nearest is named.
    """
    if name not in _providers:
        raise ConfigurationError(f"There is no provider {name!r}. {nearest(name, _providers)}")
    return _providers[name]()


class Lease:
    """The use of a server, from ``lease()`` to ``release()`` or to the end of the process.

    Attributes:
        base_url: The server's HTTP address.
        token: What it wants as bearer token, if anything.
        headers: What stands before it wants besides, with every request.
        server_id: Tells servers of a pool apart: a server started anew has another one.
    """

    def __init__(self, holding: _Holding | _Running) -> None:
        self.base_url = holding.base_url
        self.token = holding.token
        self.headers = holding.headers
        self.server_id = holding.server_id
        self._holding = holding
        self._release = weakref.finalize(self, holding.leave)

    @property
    def is_held(self) -> bool:
        """Whether it still keeps the server: it was not released, and is not a parent process's."""
        return self._release.alive and self._holding.is_mine

    def logs(self, lines: int = 100) -> str:
        """The last lines the server wrote; empty once its pool has ended."""
        return self._holding.logs(lines)

    def release(self) -> None:
        """Ends the use. The server ends when its last user is gone for as long as it lingers. Idempotent."""
        self._release()

    def __repr__(self) -> str:
        return f"Lease({self.base_url}, server {self.server_id})"


def start_deadline(request: ServerRequest, start_timeout: float = START_SECONDS) -> Deadline:
    """Until when the server of a request must answer, or several of them that share the time.

    Args:
        request: What has to run.
        start_timeout: Seconds, where the request's options do not say.

    Raises:
        UnknownOption, ConfigurationError: The request cannot be right.
    """
    return Deadline(provider_named(request.provider).start_seconds(request) or start_timeout)


def lease(
    request: ServerRequest,
    *,
    start_timeout: float = START_SECONDS,
    linger: float = LINGER_SECONDS,
    deadline: Deadline | None = None,
) -> Lease:
    """Gets the server of a request, which is started if this process tree has none. Callable from any thread.

    Args:
        request: What has to run.
        start_timeout: Seconds until it must answer, where the request's options do not say.
        linger: Seconds that it may outlive its last user; the latest wish counts.
        deadline: Until when it must answer, in place of both: several servers may share one.

    Raises:
        ServerStartError: It did not become ready; with its last log lines.
        ProviderError: The provider cannot work here.
        UnknownOption, ConfigurationError: The request cannot be right.
    """
    provider = provider_named(request.provider)
    provider.check(request)
    deadline = deadline or start_deadline(request, start_timeout)
    if not provider.owns_servers:
        return Lease(_Running(provider.start(request, deadline)))
    return _process_pool().lease(_Wanted(provider, request, provider.sharing_key(request), linger, deadline))


async def lease_async(
    request: ServerRequest, *, start_timeout: float = START_SECONDS, linger: float = LINGER_SECONDS
) -> Lease:
    """The same as ``lease``, awaited. When it is cancelled, what was on its way is released."""
    loop = asyncio.get_running_loop()
    future = loop.run_in_executor(None, lambda: lease(request, start_timeout=start_timeout, linger=linger))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        future.add_done_callback(_release_result)
        raise


def shutdown() -> None:
    """Ends all servers of this process tree's pool at once, whoever uses them, and waits until they are gone.

    It gives up after 30 seconds; a warning says then how to find what is left.
    """
    _process_pool().let_go()
    location = PoolLocation.parse(os.environ.get(POOL_VARIABLE, ""))
    client = WatchdogClient.connect_to_running(location) if location is not None else None
    if client is not None:
        client.shut_down(_SHUTDOWN_SECONDS)


@dataclass(frozen=True)
class _Wanted:
    provider: Provider
    request: ServerRequest
    key: str
    linger: float
    deadline: Deadline

    @property
    def name(self) -> str:
        return self.request.path or self.request.image or self.request.provider


class _Holding:
    """A server that this process uses: its connection, and how many leases of it there are."""

    def __init__(self, client: WatchdogClient, base_url: str, token: str | None) -> None:
        self.client = client
        self.base_url = base_url
        self.token = token
        self.headers: Mapping[str, str] = {}
        self._leases = 0
        # Reentrant: a finalizer may run in the middle of `enter`, on the same thread.
        self._lock = threading.RLock()

    @property
    def server_id(self) -> str:
        """Tells servers of the pool apart."""
        return self.client.server_id

    @property
    def is_mine(self) -> bool:
        """Whether this process has it, rather than its parent before a fork."""
        return self.client.is_mine

    def logs(self, lines: int) -> str:
        """The last lines the server wrote."""
        return self.client.logs(lines)

    def enter(self) -> bool:
        """Counts a lease; false when the last one has just left."""
        with self._lock:
            if self._leases < 0:
                return False
            self._leases += 1
            return True

    def leave(self) -> None:
        """Takes a lease off the count; the last one closes the connection."""
        if not self.is_mine:
            # A forked child's copy: its descriptor was closed at the fork, its lock may be held by nobody.
            return
        with self._lock:
            self._leases -= 1
            if self._leases == 0:
                self._leases = -1
                self.client.close()


class _Running:
    """A server that nobody here owns: no watchdog keeps it, and it goes on when its last user is gone."""

    is_mine = True

    def __init__(self, handle: ServerHandle) -> None:
        self.base_url = self.server_id = handle.base_url
        self.token = handle.token
        self.headers = handle.headers
        self.logs = handle.logs
        self.leave = handle.stop


class _ProcessPool:
    """What this process holds of its tree's pool."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holdings: dict[str, _Holding] = {}
        self._attempts: dict[str, Future[None]] = {}

    def lease(self, wanted: _Wanted) -> Lease:
        """Gets a lease; of several threads that want the same server, one asks the watchdog at a time."""
        silence = Silence(wanted.name)
        while True:
            with self._lock:
                other = self._attempts.get(wanted.key)
                mine = Future[None]() if other is None else None
                if mine is not None:
                    self._attempts[wanted.key] = mine
            if mine is not None:
                return self._attempt(wanted, mine, silence)
            _wait_for(other, wanted)

    def let_go(self) -> None:
        """Forgets what this process holds; leases of it are released as if their server had died."""
        with self._lock:
            holdings = list(self._holdings.values())
            self._holdings.clear()
        for holding in holdings:
            holding.client.close()

    def _attempt(self, wanted: _Wanted, attempt: Future[None], silence: Silence) -> Lease:
        failure: BaseException | None = None
        try:
            return self._lease(wanted, silence)
        except OpenEnvGymError as error:
            failure = error
            raise
        finally:
            with self._lock:
                del self._attempts[wanted.key]
            # A thread that was interrupted has no news for the others: each tries for itself.
            attempt.set_result(None) if failure is None else attempt.set_exception(failure)

    def _lease(self, wanted: _Wanted, silence: Silence) -> Lease:
        while True:
            holding = self._holdings.get(wanted.key)
            if holding is None or not _is_usable(holding, wanted.linger):
                holding = self._holdings[wanted.key] = _hold(wanted, silence)
            if holding.enter():
                return Lease(holding)


def _is_usable(holding: _Holding, linger: float) -> bool:
    return holding.client.is_running(linger) and not is_dead(holding.base_url, _PROBE_SECONDS)


def _hold(wanted: _Wanted, silence: Silence) -> _Holding:
    """Gets the server from the watchdog, or starts it for everybody."""
    while True:
        client = WatchdogClient.connect(wanted.deadline)
        try:
            ready = client.acquire(wanted.key, wanted.linger, wanted.deadline, silence.check)
            if ready is None:
                return _start(wanted, client)
            if not is_dead(ready.base_url, _PROBE_SECONDS):
                return _Holding(client, ready.base_url, ready.token)
            client.suspect()
        except WatchdogGone:
            client.close()
            pause_before_another(wanted.deadline)
        except BaseException:
            client.close()
            raise


def _start(wanted: _Wanted, client: WatchdogClient) -> _Holding:
    try:
        handle = wanted.provider.start(wanted.request, wanted.deadline, client)
    except OpenEnvGymError as error:
        client.fail(error)
        raise
    return _Holding(client, handle.base_url, handle.token)


def _wait_for(other: Future[None] | None, wanted: _Wanted) -> None:
    if other is not None:
        try:
            other.result(wanted.deadline.remaining())
        except TimeoutError:
            message = f"The server of {wanted.name} did not become ready within {wanted.deadline.seconds:g} s."
            raise ServerStartError(message) from None
        except OpenEnvGymError as error:
            # A copy: the same object raised by several threads would mix their tracebacks.
            raise copy.copy(error) from error


def _release_result(future: asyncio.Future[Lease]) -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().release()


_current: _ProcessPool | None = None
_current_lock = threading.Lock()


def _process_pool() -> _ProcessPool:
    global _current
    with _current_lock:
        if _current is None:
            _current = _ProcessPool()
        return _current


def _forget_after_fork() -> None:
    # The parent's connections are closed in the child; what it uses, it asks for itself.
    global _current, _current_lock
    _current = None
    _current_lock = threading.Lock()


def _end_with_the_root() -> None:
    location = PoolLocation.parse(os.environ.get(POOL_VARIABLE, ""))
    if location is not None and location == pool_location() and location.root_pid == os.getpid():
        shutdown()


os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(_end_with_the_root)
