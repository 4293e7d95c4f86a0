"""Which server each lane has."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TypeAlias

from openenv_gym_protocol.errors import ConfigurationError, OpenEnvGymError, copied

from openenv_gym.bridge.servers.lot import Lot
from openenv_gym.bridge.servers.server import Server, Starting
from openenv_gym.bridge.servers.spares import Spares
from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.pool import LINGER_SECONDS, provider_named, start_deadline
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.timeouts import Timeouts
from openenv_gym.transports.token import resolve_token

_Place: TypeAlias = tuple[int, int]
"""Which server: its number, and how often its lanes were moved to another."""


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
        spares: How many servers to hold ready for lanes whose server fails.
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
        spares: int = 0,
    ) -> None:
        self._base_urls = tuple(base_urls)
        self._token = token
        self._timeouts = timeouts
        self._linger = linger
        self._per_server = sessions_per_server
        self._starting = None if request is None else Starting(request, timeouts.connect)
        self._servers: dict[_Place, Server] = {}
        self._places: dict[int, _Place] = {}
        self._moves: dict[int, int] = {}
        self._names: dict[_Place, str] = {}
        """Of servers that nobody else can know."""
        self._given_up: set[_Place] = set()
        self._spares = Spares(spares, _spare_starter(self._starting, timeouts.start)) if self._starting else None

    def check(self, lanes: int) -> None:
        """Refuses more lanes than the servers may hold, or than may have a server.

        Raises:
            ConfigurationError: ``sessions_per_server`` times the servers is less, or several servers would have
                to have what only one can.
        """
        if self.index_of(lanes - 1) > 0 and self._starting is not None:
            refuse_several(
                self._starting.request,
                f"{lanes} environments with sessions_per_server={self._per_server} need several servers",
                "Raise sessions_per_server",
            )
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
        """The server of each lane; see ``start``.

        Raises:
            OpenEnvGymError: One could not be started.
        """
        servers, failures = self.start(lanes)
        if failures:
            raise next(iter(failures.values()))
        return [servers[lane] for lane in lanes]

    def start(self, lanes: Sequence[int]) -> tuple[dict[int, Server], dict[int, OpenEnvGymError]]:
        """Gets the servers of lanes; those that do not run are started together, with one time budget.

        Blocks until all of them answer. Those that do are kept when others fail, so that another try does not start
        them again. The use of a server that the last of its lanes has left by then is ended.

        Returns:
            The servers of the lanes that have one, and why the other lanes have none; see
            ``openenv_gym.providers.pool.lease`` for the reasons.
        """
        self._places.update({lane: self._place_of(lane) for lane in lanes})
        for left in self._servers.keys() - set(self._places.values()):
            self._servers.pop(left).release()
        places = {lane: self._places[lane] for lane in lanes}
        failures = self._open_all(sorted({place for place in places.values() if not self._has(place)}))
        servers = {lane: self._servers[place] for lane, place in places.items() if place not in failures}
        return servers, {lane: copied(failures[place]) for lane, place in places.items() if place in failures}

    def keep_spares(self) -> None:
        """Starts the spares that are missing, in the background."""
        if self._spares is not None:
            self._spares.fill()

    def known(self, lane: int) -> Server | None:
        """The server of a lane, when it was asked for before."""
        return self._servers.get(self._place_of(lane))

    def replace(self, lane: int) -> bool:
        """Gives up a lane's server, which cannot be reached, so that the next call of ``of`` gets another.

        Returns:
            Whether there will be another: a server that somebody else started is not ours to replace.
        """
        if self._starting is None:
            return False
        place = self._place_of(lane)
        server = self._servers.pop(place, None)
        if server is not None:
            server.release()
            self._names.pop(place, None)
            self._given_up.add(place)
        return True

    def move(self, lane: int) -> None:
        """Gives a lane to another server of ours, which nobody else has; lanes that leave one server meet again."""
        self._moves[lane] = self._moves.get(lane, 0) + 1

    def release(self) -> None:
        """Ends the use of all servers, spares included. Idempotent."""
        while self._servers:
            self._servers.popitem()[1].release()
        if self._spares is not None:
            self._spares.release()

    def _place_of(self, lane: int) -> _Place:
        return self.index_of(lane), self._moves.get(lane, 0)

    def _has(self, place: _Place) -> bool:
        server = self._servers.get(place)
        return server is not None and server.is_held()

    def _open_all(self, places: Sequence[_Place]) -> dict[_Place, OpenEnvGymError]:
        starting = self._starting
        if starting is None:
            options = ConnectionOptions(token=resolve_token(self._token), connect_timeout=self._timeouts.connect)
            self._servers.update({place: Server(self._base_urls[place[0]], options) for place in places})
            return {}
        if not places:
            return {}
        deadline = start_deadline(starting.request, self._timeouts.start)
        started, failed = Lot(lambda place: self._open(starting, place, deadline), places).start()
        self._servers.update(started)
        return {place: self._named(error, place) for place, error in failed.items()}

    def _open(self, starting: Starting, place: _Place, deadline: Deadline) -> Server:
        index, moves = place
        is_replacement = moves > 0 or place in self._given_up
        spare = self._spares.take() if self._spares and is_replacement and place not in self._names else None
        if spare is not None:
            self._names[place] = spare.name
        elif moves:
            # Unique: a server of that name that others have used may have what this lane was moved away from.
            self._names.setdefault(place, f"{index}.{moves}.{uuid.uuid4().hex[:8]}")
        shared = str(index) if index else None
        try:
            if place in self._names:
                return starting.start(self._names[place], deadline, linger=0.0)
            return starting.start(shared, deadline, self._linger)
        finally:
            if spare is not None:
                spare.drop()

    def _named(self, error: OpenEnvGymError, place: _Place) -> OpenEnvGymError:
        """Says which server could not be started, where there may be several."""
        if self._per_server is None:
            return error
        lanes = ", ".join(str(lane) for lane, its_place in sorted(self._places.items()) if its_place == place)
        error.args = (f"Server {place[0]}, of the lanes {lanes}: {error.message}",)
        return error


def refuse_several(request: ServerRequest, why: str, remedy: str) -> None:
    """Refuses a request of which there can be one server only.

    Args:
        request: What has to run.
        why: Why there would be several.
        remedy: By what there would be one.

    Raises:
        ConfigurationError: An option is named that two servers cannot both have.
    """
    option = provider_named(request.provider).only_one(request)
    if option is not None:
        raise ConfigurationError(f"{why}, and only one can have {option}=. {remedy}.")


def _spare_starter(starting: Starting, seconds: float) -> Callable[[str], Server]:
    """Starts a spare of a name; knows nothing of the environment, so that it does not keep it alive."""
    return lambda name: starting.start(name, start_deadline(starting.request, seconds), linger=0.0)
