"""Where the sessions of an environment come from: an id, an address, or a function that makes clients."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.client import EnvClient, GenericEnvClient
from openenv_gym.providers.readiness import is_dead
from openenv_gym.transports.timeouts import Timeouts

if TYPE_CHECKING:
    from openenv_gym.bridge.env import RemoteEnv
    from openenv_gym.bridge.servers.server import Server

AnyClient: TypeAlias = EnvClient[Any, Any, Any]
ClientT = TypeVar("ClientT", bound=AnyClient)

_PROBE_SECONDS = 1.0

_SCHEMES = ("http://", "https://", "ws://", "wss://")


class EnvironmentSource:
    """Makes clients of one environment. Its methods may be called from any thread.

    Args:
        environment: A Gymnasium id such as ``openenv/Blackjack-v0``, or the address of a server.
        token: The token of a server given by its address; ``env:NAME`` reads it from an environment variable.
        timeouts: Seconds by phase, as for ``EnvClient``.
        **keywords: Those of ``gymnasium.make`` for the id, such as ``provider=`` and reset options.

    Attributes:
        name: The environment, as it was named.
        max_steps: The id's limit of steps, where it has one.

    Raises:
        ConfigurationError: There is no such id, or a keyword cannot be used.
    """

    def __init__(
        self,
        environment: str,
        *,
        token: str | None = None,
        timeouts: Timeouts | Mapping[str, float | None] | None = None,
        **keywords: Any,
    ) -> None:
        self.name = environment
        self.max_steps: int | None = None
        self._timeouts = timeouts
        self._token = token
        self._lock = threading.Lock()
        self._env: RemoteEnv | None = None
        self._is_closed = False
        self._keywords: dict[str, Any] = dict(keywords)
        self._options = self._keywords
        if not is_address(environment):
            self._describe()

    @property
    def reset_options(self) -> dict[str, Any]:
        """What every reset sends besides its seed."""
        return dict(self._options)

    def client(self, kind: Callable[..., ClientT]) -> ClientT:
        """Makes a client of a new session. Blocks while a server has to be started; one that died is started anew.

        Args:
            kind: The client's class.

        Raises:
            OpenEnvGymError: The server cannot be started.
        """
        if self._env is None:
            return kind(self.name, token=self._token, timeouts=self._timeouts)
        server = self._server()
        options = server.options
        return kind(server.base_url, token=options.token, headers=options.headers, timeouts=self._timeouts)

    def close(self) -> None:
        """Ends the use of the server, which lingers; clients that were made of it go on, and another begins it again.

        Idempotent.
        """
        if self._env is not None:
            self._is_closed = True
            self._env.close()

    def _server(self) -> Server:
        with self._lock:
            if self._is_closed:
                self._describe()
                self._is_closed = False
            assert self._env is not None  # only an address has none
            # It is never reset: it has the lease of the server.
            found = self._env.start_server()
            return self._env.start_server(anew=True) if is_dead(found.base_url, _PROBE_SECONDS) else found

    def _describe(self) -> None:
        import gymnasium  # an address needs none of it

        if self._token is not None:
            raise ConfigurationError("token= is for an address; a server that is started has one of its own.")
        given = self._keywords if self._timeouts is None else {"timeouts": self._timeouts, **self._keywords}
        try:
            env = gymnasium.make(self.name, disable_env_checker=True, **given)
        except gymnasium.error.Error as error:
            raise ConfigurationError(
                f"{self.name!r} is neither the address of a server nor an id of Gymnasium's: {error}"
            ) from error
        from openenv_gym.bridge.env import RemoteEnv

        if not isinstance(env.unwrapped, RemoteEnv):
            raise ConfigurationError(f"{self.name!r} is an environment of this process, not one of a server's.")
        self.max_steps = None if env.spec is None else env.spec.max_episode_steps
        self._env = env.unwrapped
        self._options = env.unwrapped.reset_options


ClientMaker: TypeAlias = Callable[[], AnyClient]
"""Makes a client of a new session; it may block."""


def is_address(environment: str) -> bool:
    """Whether a text is a server's address rather than an id: ids have no scheme and no port."""
    if environment.startswith(_SCHEMES):
        return True
    host, _, port = environment.partition("/")[0].rpartition(":")
    return bool(host) and port.isdigit()


def maker_of(source: EnvironmentSource) -> ClientMaker:
    """Makes clients that speak dictionaries."""
    return lambda: source.client(GenericEnvClient)


def source_of(environment: str | EnvironmentSource, keywords: Mapping[str, Any]) -> tuple[EnvironmentSource, bool]:
    """The source that an argument means, and whether it was made here.

    Raises:
        ConfigurationError: Keywords were given for a source that is there.
    """
    if isinstance(environment, str):
        return EnvironmentSource(environment, **keywords), True
    if keywords:
        raise ConfigurationError(f"{', '.join(keywords)}= belong to the source; give them to EnvironmentSource(...).")
    return environment, False
