"""The contract between whoever needs a server and whoever can start one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol, TypeAlias

from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers.deadline import Deadline


@dataclass(frozen=True, kw_only=True)
class ServerRequest:
    """What to run. Equal requests share a server.

    Attributes:
        provider: Who runs it: ``process``, ``docker`` or ``space``.
        path: The environment project's folder, for a process.
        image: The image's name, for a container.
        options: The provider's own options, as pairs of a name and a JSON value; see each provider.
        settings: Environment variables of the server.
    """

    provider: str = "process"
    path: str | None = None
    image: str | None = None
    options: tuple[tuple[str, Any], ...] = ()
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        # The order in which options were written makes no other server.
        object.__setattr__(self, "options", tuple(sorted(self.options, key=itemgetter(0))))
        object.__setattr__(self, "settings", tuple(sorted(self.settings)))

    def __hash__(self) -> int:
        return hash(self.to_json())

    def to_json(self) -> str:
        """The request as JSON; the same text for equal requests."""
        data = {"provider": self.provider, "path": self.path, "image": self.image}
        return json.dumps({**data, "options": self.options, "settings": self.settings}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> ServerRequest:
        """Reads what ``to_json`` wrote."""
        data: dict[str, Any] = json.loads(text)
        for pairs in ("options", "settings"):
            data[pairs] = tuple((name, value) for name, value in data[pairs])
        return cls(**data)


class Owner(Protocol):
    """The watchdog, as far as it concerns one server: what it runs, it ends, whatever happens to this process."""

    server_id: str

    def spawn(self, argv: list[str], *, cwd: str, env: Mapping[str, str], deadline: Deadline) -> int:
        """Runs the server's process with a listening socket of its own.

        Returns:
            The port on 127.0.0.1 at which the socket listens.

        Raises:
            ProviderError: The program could not be run.
        """

    def keep(self, argv: list[str], *, env: Mapping[str, str], key: str, deadline: Deadline) -> None:
        """Has the server kept by a program that ends what is no process of this machine, such as a container.

        To be called before the thing is made: from then on the program sees to its end, whatever happens to this
        process. The thing says by a label of the server's id and of the pool whose it is.

        Args:
            argv: The program; the pool's directory is added as its last argument.
            env: Its whole environment.
            key: One process serves all servers of the pool that have the same key, as the first of them said.
            deadline: Until when it must answer.

        Raises:
            ProviderError: The program could not be run, or cannot do its work.
        """

    def kept_started(self) -> None:
        """Says that the kept thing runs: from now on its log is followed and its end is noticed."""

    def exit_code(self, wait: float = 0.0) -> int | None:
        """How the server ended, or None when it still runs after ``wait`` seconds."""

    def ready(self, base_url: str, token: str | None) -> None:
        """Says that the server answers: whoever waits for it may have it.

        Raises:
            ServerStartError: It has ended in the meantime.
        """

    def logs(self, lines: int = 100) -> str:
        """The last lines the server wrote."""

    def stop(self) -> None:
        """Ends the server and waits until it is gone. Idempotent."""


class ServerHandle(Protocol):
    """A server that answers."""

    @property
    def base_url(self) -> str:
        """Its HTTP address, such as ``http://127.0.0.1:40123``."""

    @property
    def token(self) -> str | None:
        """What it wants as bearer token, if anything."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What stands before it wants besides, with every request. May be secret."""

    def logs(self, lines: int = 100) -> str:
        """The last lines the server wrote; empty once its pool has ended."""

    def stop(self) -> None:
        """Ends the server and waits until it is gone. Idempotent."""


@dataclass(frozen=True)
class OwnedServer:
    """A server that the watchdog owns.

    Attributes:
        base_url: Its HTTP address.
        token: What it wants as bearer token, if anything.
        owner: Who ends it.
    """

    base_url: str
    token: str | None = field(repr=False)
    owner: Owner = field(repr=False)

    @property
    def headers(self) -> Mapping[str, str]:
        """Nothing stands before it."""
        return {}

    def logs(self, lines: int = 100) -> str:
        """The last lines the server wrote; empty once its pool has ended."""
        return self.owner.logs(lines)

    def stop(self) -> None:
        """Ends the server and waits until it is gone. Idempotent."""
        self.owner.stop()


class Provider(Protocol):
    """Starts servers somewhere."""

    @property
    def owns_servers(self) -> bool:
        """Whether its servers are this process tree's own: shared over its pool, and ended with it."""

    def check(self, request: ServerRequest) -> None:
        """Refuses a request that cannot be right, before anything is started.

        Raises:
            UnknownOption: An option that this provider does not have; the nearest is named.
            ConfigurationError: A value that cannot be, such as a path that does not exist.
        """

    def sharing_key(self, request: ServerRequest) -> str:
        """What requests for the same server have in common: not how long somebody wants to wait, for example."""

    def start_seconds(self, request: ServerRequest) -> float | None:
        """How long the request's own options let a start take; None when they do not say."""

    def only_one(self, request: ServerRequest) -> str | None:
        """The option by which there can be no second server of a request at the same time; None: there can."""

    def start(self, request: ServerRequest, deadline: Deadline, owner: Owner | None = None) -> ServerHandle:
        """Starts a server and waits until it answers.

        Args:
            request: What to run.
            deadline: Until when it must answer.
            owner: Who is to own it; None for an owner of its own in this process tree's pool.

        Raises:
            ServerStartError: It did not become ready; with its last log lines and its exit code.
            ProviderError: The provider cannot work here.
            UnknownOption, ConfigurationError: See ``check``.
        """


@dataclass(frozen=True, kw_only=True)
class SpaceAddress:
    """Where a Hugging Face Space is, and where the Hub tells of it.

    Attributes:
        name: ``owner/name``, or its host where only that is known.
        id: ``owner/name``; None where only the host is known.
        revision: The branch, tag or commit that was named with it.
        base_url: Where it serves, by its name; the Hub may know better.
        hub_url: The Hub.
        page_url: Where a person sees its state and its log.
        host_suffix: How the name of its host ends: a token of its is sent to no other; empty for any.
        hub_token: Gives the Hub's token of this machine's user, if there is one.
    """

    name: str
    id: str | None
    revision: str | None
    base_url: str
    hub_url: str
    page_url: str
    host_suffix: str
    hub_token: Callable[[], str | None] = field(repr=False)


SpaceResolver: TypeAlias = Callable[[str], SpaceAddress]
"""Reads a Space as people write it. It looks nothing up."""

_resolvers: list[SpaceResolver] = []


def use_space_resolver(resolver: SpaceResolver) -> None:
    """Sets how names of Spaces are read. The front door does, since the registry knows them and stands above."""
    _resolvers[:] = [resolver]


def space_address(text: str) -> SpaceAddress:
    """Where a Space is.

    Raises:
        ConfigurationError: The text names no Space.
        ProviderError: Nobody has set how such names are read.
    """
    if not _resolvers:
        raise ProviderError("The names of Spaces can be read once openenv_gym was imported.")
    return _resolvers[0](text)
