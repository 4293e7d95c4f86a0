"""A server that answers, and how one of ours is had from the pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.pool import lease
from openenv_gym.transports.base import ConnectionOptions

SERVER_INDEX = "OPENENV_GYM_SERVER_INDEX"
"""The setting that makes the second and later servers of a vector environment servers of their own."""


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


@dataclass(frozen=True)
class Starting:
    """How servers are started.

    Attributes:
        request: What a provider has to run.
        connect_timeout: Seconds for opening a connection to it.
    """

    request: ServerRequest
    connect_timeout: float

    def start(self, name: str | None, deadline: Deadline, linger: float) -> Server:
        """Gets a server, which is started unless it runs already. Callable from any thread.

        Args:
            name: Tells it from others of the same request; None for the one that everybody shares.
            deadline: Until when it must answer.
            linger: Seconds that it may outlive its last user.

        Raises:
            OpenEnvGymError: It could not be started; see ``openenv_gym.providers.pool.lease``.
        """
        request = self.request
        if name is not None:
            request = replace(request, settings=(*request.settings, (SERVER_INDEX, name)))
        held = lease(request, deadline=deadline, linger=linger)
        options = ConnectionOptions(headers=held.headers, token=held.token, connect_timeout=self.connect_timeout)
        return Server(held.base_url, options, lambda: held.is_held, held.logs, held.release)
