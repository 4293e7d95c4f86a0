"""From the keywords of an environment to the servers its lanes connect to."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.pool import LINGER_SECONDS, lease, provider_named
from openenv_gym.transports.address import websocket_url
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.timeouts import Timeouts

SERVER_INDEX = "OPENENV_GYM_SERVER_INDEX"
"""The setting that makes the second and later servers of a vector environment servers of their own."""

_STARTS_AT_ONCE = 8


@dataclass(frozen=True)
class Server:
    """A server that answers.

    Attributes:
        base_url: Its HTTP address.
        options: How to connect to it.
        is_held: Says whether it is still ours: a provider's is not after a fork.
        logs: Gives its last lines; empty for a server that somebody else started.
        release: Ends the use of it. Idempotent.
    """

    base_url: str
    options: ConnectionOptions = field(repr=False)
    is_held: Callable[[], bool] = field(default=lambda: True, repr=False)
    logs: Callable[[int], str] = field(default=lambda lines: "", repr=False)  # noqa: ARG005
    release: Callable[[], None] = field(default=lambda: None, repr=False)


class Source:
    """Where the lanes' servers come from. Its methods may be called from any thread, but one at a time.

    Args:
        base_urls: Servers that run already; or none, and
        request: what a provider has to run.
        token: The token of the given servers, or ``env:NAME`` for an environment variable that holds it.
        timeouts: For starting and connecting.
        linger: Seconds that a started server may outlive its last user.
        sessions_per_server: How many lanes a server gets, in order; None for one server, or to deal the lanes to
            the given servers in turn.
    """

    def __init__(
        self,
        base_urls: Sequence[str],
        request: ServerRequest | None,
        *,
        token: str | None,
        timeouts: Timeouts,
        linger: float = LINGER_SECONDS,
        sessions_per_server: int | None = None,
    ) -> None:
        self._base_urls = tuple(base_urls)
        self._request = request
        self._token = token
        self._timeouts = timeouts
        self._linger = linger
        self._per_server = sessions_per_server
        self._servers: dict[int, Server] = {}

    @property
    def is_running(self) -> bool:
        """Whether the servers run already, so that asking them starts nothing."""
        return bool(self._base_urls)

    def check(self, lanes: int) -> None:
        """Refuses more lanes than the servers may hold.

        Raises:
            ConfigurationError: ``sessions_per_server`` times the servers is less.
        """
        if self._base_urls and self._per_server is not None and lanes > self._per_server * len(self._base_urls):
            raise ConfigurationError(
                f"{lanes} environments do not fit on {len(self._base_urls)} servers with "
                f"sessions_per_server={self._per_server}."
            )

    def index_of(self, lane: int) -> int:
        """Which server a lane belongs to."""
        if self._per_server is not None:
            return lane // self._per_server
        return lane % len(self._base_urls) if self._base_urls else 0

    def servers(self, lanes: Sequence[int]) -> list[Server]:
        """The server of each lane, started when it does not run. Blocks until all of them answer.

        Raises:
            OpenEnvGymError: One could not be started; see ``openenv_gym.providers.pool.lease``.
        """
        indices = sorted({self.index_of(lane) for lane in lanes})
        wanted = [index for index in indices if not self._has(index)]
        if len(wanted) == 1:
            self._servers[wanted[0]] = self._open(wanted[0])
        elif wanted:
            with ThreadPoolExecutor(min(_STARTS_AT_ONCE, len(wanted))) as starting:
                self._servers.update(zip(wanted, starting.map(self._open, wanted), strict=True))
        return [self._servers[self.index_of(lane)] for lane in lanes]

    def known(self, lane: int) -> Server | None:
        """The server of a lane, when it was asked for before."""
        return self._servers.get(self.index_of(lane))

    def replace(self, lane: int) -> bool:
        """Gives up a lane's server, which cannot be reached, so that the next call of ``servers`` gets another.

        Returns:
            Whether there will be another: a server that somebody else started is not ours to replace.
        """
        if self._request is None:
            return False
        server = self._servers.pop(self.index_of(lane), None)
        if server is not None:
            server.release()
        return True

    def release(self) -> None:
        """Ends the use of all servers. Idempotent."""
        while self._servers:
            self._servers.popitem()[1].release()

    def _has(self, index: int) -> bool:
        server = self._servers.get(index)
        return server is not None and server.is_held()

    def _open(self, index: int) -> Server:
        options = ConnectionOptions(token=self._given_token(), connect_timeout=self._timeouts.connect)
        if self._request is None:
            return Server(self._base_urls[index], options)
        request = self._request
        if index:
            request = replace(request, settings=(*request.settings, (SERVER_INDEX, str(index))))
        held = lease(request, start_timeout=self._timeouts.start, linger=self._linger)
        return Server(held.base_url, replace(options, token=held.token), lambda: held.is_held, held.logs, held.release)

    def _given_token(self) -> str | None:
        if self._token is None or not self._token.startswith("env:"):
            return self._token
        name = self._token.removeprefix("env:")
        if name not in os.environ:
            raise ConfigurationError(f"token='env:{name}' names an environment variable that is not set.")
        return os.environ[name]


def make_source(
    *,
    base_url: str | Sequence[str] | None,
    path: str | os.PathLike[str] | None,
    image: str | None,
    provider: str | Mapping[str, Any] | None,
    token: str | None,
    settings: Mapping[str, str] | None,
    timeouts: Timeouts,
    sessions_per_server: int | None = None,
) -> Source:
    """Reads the keywords that say where an environment runs.

    Args:
        base_url: One or several servers that run already.
        path: The folder of an environment project.
        image: The name of an image.
        provider: A provider's name, or its options, with its name under ``name`` where it does not follow from
            ``path`` or ``image``.
        token: For servers that run already.
        settings: Environment variables of the server to start.
        timeouts: For starting and connecting.
        sessions_per_server: See ``Source``.

    Raises:
        ConfigurationError: Keywords that contradict each other, or none that says where.
        UnknownOption: An option that the provider does not have; the nearest is named.
    """
    if sessions_per_server is not None and sessions_per_server < 1:
        raise ConfigurationError(f"sessions_per_server must be at least 1, not {sessions_per_server}.")
    given = {"base_url": base_url, "path": path, "image": image}
    places = [name for name, value in given.items() if value is not None]
    if len(places) != 1:
        said = " and ".join(places) or "nothing"
        raise ConfigurationError(f"Give one of base_url=, path= or image= to say where the environment is; got {said}.")
    if base_url is None:
        request, linger = _request(path, image, provider, settings)
        if token is not None:
            raise ConfigurationError("token= is for servers given by base_url; a started server gets one of its own.")
        provider_named(request.provider).check(request)
        return Source(
            (), request, token=None, timeouts=timeouts, linger=linger, sessions_per_server=sessions_per_server
        )
    if provider is not None or settings is not None:
        raise ConfigurationError("provider= and settings= are for servers to start; base_url names one that runs.")
    urls = (base_url,) if isinstance(base_url, str) else tuple(base_url)
    if not urls:
        raise ConfigurationError("base_url is an empty list.")
    for url in urls:
        websocket_url(url)
    return Source(urls, None, token=token, timeouts=timeouts, sessions_per_server=sessions_per_server)


def _request(
    path: str | os.PathLike[str] | None,
    image: str | None,
    provider: str | Mapping[str, Any] | None,
    settings: Mapping[str, str] | None,
) -> tuple[ServerRequest, float]:
    options = dict(provider) if isinstance(provider, Mapping) else {}
    name = provider if isinstance(provider, str) else options.pop("name", "process" if path is not None else "docker")
    linger = options.pop("linger", LINGER_SECONDS)
    for key, value in (settings or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ConfigurationError(f"settings are environment variables, text to text; {key!r}: {value!r} is not.")
    request = ServerRequest(
        provider=str(name),
        path=None if path is None else str(Path(path).expanduser().resolve()),
        image=image,
        options=tuple(options.items()),
        settings=tuple((settings or {}).items()),
    )
    return request, float(linger)
