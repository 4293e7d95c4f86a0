"""From the keywords of an environment to the servers its lanes connect to."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.pool import LINGER_SECONDS, lease, provider_named
from openenv_gym.transports.address import websocket_url
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.timeouts import Timeouts
from openenv_gym.transports.token import resolve_token

SERVER_INDEX = "OPENENV_GYM_SERVER_INDEX"
"""The setting that makes the second and later servers of a vector environment servers of their own."""

_STARTS_AT_ONCE = 8

_Place: TypeAlias = tuple[int, int]
"""Which server: its number, and how often its lanes were moved to another."""


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


class Servers:
    """The servers of the lanes, got when they are asked for.

    Its methods may be called from any thread, but one at a time.

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
        self._servers: dict[_Place, Server] = {}
        self._moves: dict[int, int] = {}
        self._names: dict[_Place, str] = {}

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

    def of(self, lanes: Sequence[int]) -> list[Server]:
        """The server of each lane, started when it does not run. Blocks until all of them answer.

        Raises:
            OpenEnvGymError: One could not be started; see ``openenv_gym.providers.pool.lease``.
        """
        places = sorted({self._place_of(lane) for lane in lanes})
        wanted = [place for place in places if not self._has(place)]
        if len(wanted) == 1:
            self._servers[wanted[0]] = self._open(wanted[0])
        elif wanted:
            with ThreadPoolExecutor(min(_STARTS_AT_ONCE, len(wanted))) as starting:
                self._servers.update(zip(wanted, starting.map(self._open, wanted), strict=True))
        return [self._servers[self._place_of(lane)] for lane in lanes]

    def known(self, lane: int) -> Server | None:
        """The server of a lane, when it was asked for before."""
        return self._servers.get(self._place_of(lane))

    def replace(self, lane: int) -> bool:
        """Gives up a lane's server, which cannot be reached, so that the next call of ``of`` gets another.

        Returns:
            Whether there will be another: a server that somebody else started is not ours to replace.
        """
        if self._request is None:
            return False
        server = self._servers.pop(self._place_of(lane), None)
        if server is not None:
            server.release()
        return True

    def move(self, lane: int) -> None:
        """Gives a lane to another server of ours, which nobody else has; lanes that leave one server meet again."""
        self._moves[lane] = self._moves.get(lane, 0) + 1

    def release(self) -> None:
        """Ends the use of all servers. Idempotent."""
        while self._servers:
            self._servers.popitem()[1].release()

    def _place_of(self, lane: int) -> _Place:
        return self.index_of(lane), self._moves.get(lane, 0)

    def _has(self, place: _Place) -> bool:
        server = self._servers.get(place)
        return server is not None and server.is_held()

    def _open(self, place: _Place) -> Server:
        index, moves = place
        options = ConnectionOptions(token=resolve_token(self._token), connect_timeout=self._timeouts.connect)
        if self._request is None:
            return Server(self._base_urls[index], options)
        request = self._request
        if moves:
            # Unique: a server of that name that others have used may have what this lane was moved away from.
            name = self._names.setdefault(place, f"{index}.{moves}.{uuid.uuid4().hex[:8]}")
            request = replace(request, settings=(*request.settings, (SERVER_INDEX, name)))
        elif index:
            request = replace(request, settings=(*request.settings, (SERVER_INDEX, str(index))))
        held = lease(request, start_timeout=self._timeouts.start, linger=self._linger)
        return Server(held.base_url, replace(options, token=held.token), lambda: held.is_held, held.logs, held.release)


def make_servers(
    *,
    base_url: str | Sequence[str] | None,
    path: str | os.PathLike[str] | None,
    image: str | None,
    provider: str | Mapping[str, Any] | None,
    token: str | None,
    settings: Mapping[str, str] | None,
    timeouts: Timeouts,
    sessions_per_server: int | None = None,
) -> Servers:
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
        sessions_per_server: See ``Servers``.

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
        return Servers(
            (), request, token=None, timeouts=timeouts, linger=linger, sessions_per_server=sessions_per_server
        )
    if provider is not None or settings is not None:
        raise ConfigurationError("provider= and settings= are for servers to start; base_url names one that runs.")
    urls = (base_url,) if isinstance(base_url, str) else tuple(base_url)
    if not urls:
        raise ConfigurationError("base_url is an empty list.")
    for url in urls:
        websocket_url(url)
    return Servers(urls, None, token=token, timeouts=timeouts, sessions_per_server=sessions_per_server)


def _request(
    path: str | os.PathLike[str] | None,
    image: str | None,
    provider: str | Mapping[str, Any] | None,
    settings: Mapping[str, str] | None,
) -> tuple[ServerRequest, float]:
    options = dict(provider) if isinstance(provider, Mapping) else {}
    name = provider if isinstance(provider, str) else options.pop("name", "process" if path is not None else "docker")
    linger = options.pop("linger", LINGER_SECONDS)
    if not isinstance(name, str):
        raise ConfigurationError(f"provider={{'name': ...}} must be a name such as 'process', not {name!r:.80}.")
    for key, value in (settings or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ConfigurationError(f"settings are environment variables, text to text; {key!r}: {value!r} is not.")
    request = ServerRequest(
        provider=name,
        path=None if path is None else str(Path(path).expanduser().resolve()),
        image=image,
        options=tuple(options.items()),
        settings=tuple((settings or {}).items()),
    )
    if isinstance(linger, bool) or not isinstance(linger, int | float) or not linger >= 0:
        raise ConfigurationError(f"provider={{'linger': ...}} must be 0 or more seconds, not {linger!r:.80}.")
    return request, float(linger)
