"""A client whose server is still to be started, for it alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from openenv_gym_protocol.errors import ConfigurationError, UnknownOption

from openenv_gym.providers.base import ServerHandle, ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.pool import provider_named
from openenv_gym.providers.requests import server_request
from openenv_gym.transports.io_thread import io_thread
from openenv_gym.transports.timeouts import Timeouts

if TYPE_CHECKING:
    from openenv_gym.client.env_client import EnvClient
    from openenv_gym.client.sync_client import SyncEnvClient

ClientT = TypeVar("ClientT", bound="EnvClient[Any, Any, Any]")
_T = TypeVar("_T")

_OF_OTHER_CLIENTS = {
    "env_vars": "settings=",
    "port": "provider={'port': ...}",
    "host_port": "provider={'host_port': ...}",
}
"""Keywords by which OpenEnv's own clients have what ours has by another."""


class StartingClient(Coroutine[Any, Any, ClientT], Generic[ClientT]):
    """A client before its server was started; nothing runs until that is asked for, once.

    There are three ways::

        client = await starting
        async with starting as client: ...
        with starting.sync() as client: ...

    It is a coroutine, so ``asyncio.run(starting)`` and the like take it too. A start that fails or is cancelled
    leaves nothing running.

    Args:
        start: Starts the server. Blocks.
        make: Makes the client of a server that answers.
    """

    def __init__(self, start: Callable[[], ServerHandle], make: Callable[[ServerHandle], ClientT]) -> None:
        self._start = start
        self._make = make
        self._work: Coroutine[Any, Any, ClientT] | None = None
        self._is_used = False
        self._client: ClientT | None = None

    def sync(self) -> SyncEnvClient[Any, Any, Any]:
        """Starts the server and connects, for code without coroutines.

        Returns:
            The connected client's twin.

        Raises:
            OpenEnvGymError: The server cannot be started or reached.
            RuntimeError: It was started before.
        """
        return io_thread().run(self._resolve()).sync()

    def __await__(self) -> Generator[Any, None, ClientT]:
        return self._coroutine().__await__()

    async def __aenter__(self) -> ClientT:
        self._client = await self
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()

    def send(self, value: Any, /) -> Any:
        """Drives the coroutine; see ``collections.abc.Coroutine``."""
        return self._coroutine().send(value)

    def throw(self, *arguments: Any) -> Any:
        """Raises in the coroutine; see ``collections.abc.Coroutine``."""
        return self._coroutine().throw(*arguments)

    def close(self) -> None:
        """Ends the coroutine; the client that it gave is closed by itself."""
        if self._work is not None:
            self._work.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: await it, or call .sync()>"

    def _coroutine(self) -> Coroutine[Any, Any, ClientT]:
        if self._work is None:
            self._work = self._resolve()
        return self._work

    async def _resolve(self) -> ClientT:
        if self._is_used:
            raise RuntimeError("This client was started already. Make another one.")
        self._is_used = True
        starting = _on_thread(self._start)
        try:
            client = self._make(await asyncio.wrap_future(starting))
            await client.connect()
        except BaseException:
            # Also what arrives after a cancellation is ended.
            starting.add_done_callback(_stop_result)
            raise
        return client


def start_in_container(
    kind: type[ClientT],
    image: str,
    provider: Mapping[str, Any] | None,
    settings: Mapping[str, str] | None,
    keywords: dict[str, Any],
) -> StartingClient[ClientT]:
    """Checks what is to be started in a container of its own, and starts nothing; see ``from_docker_image``.

    Args:
        kind: The client's class.
        image: The image's name.
        provider: The docker provider's options.
        settings: Environment variables of the server.
        keywords: The client's.

    Raises:
        UnknownOption, ConfigurationError: Something of that cannot be right.
    """
    for name, instead in _OF_OTHER_CLIENTS.items():
        if name in keywords:
            raise UnknownOption(f"{name}= is {instead} here.")
    if "token" in keywords:
        raise ConfigurationError("The container gets a token of its own; leave token= out.")
    timeouts = _checked(kind, keywords)

    def make(server: ServerHandle) -> ClientT:
        client = kind(server.base_url, token=server.token, **keywords)
        client._server, client._ends_server = server, True
        return client

    return StartingClient(_container_start(image, provider, settings, timeouts), make)


def start_in_space(
    kind: type[ClientT], space: str, revision: str | None, hub_token: str | None, keywords: dict[str, Any]
) -> StartingClient[ClientT]:
    """Checks what is to be woken, and wakes nothing; see ``EnvClient.from_env``.

    Args:
        kind: The client's class.
        space: The Space.
        revision: What has to run there.
        hub_token: Where the Hub's token is.
        keywords: The client's.

    Raises:
        UnknownOption, ConfigurationError: Something of that cannot be right.
    """
    if not isinstance(space, str):
        raise ConfigurationError(f"The Space must be a text such as 'owner/name', not {space!r:.80}.")
    timeouts = _checked(kind, keywords)
    given = {"name": "space", "space": space, "revision": revision, "hub_token": hub_token}
    headers = dict(keywords.pop("headers", None) or {})

    def make(server: ServerHandle) -> ClientT:
        client = kind(server.base_url, headers={**server.headers, **headers}, **keywords)
        client._server = server
        return client

    return StartingClient(_start(server_request(path=None, image=None, provider=given, settings=None), timeouts), make)


def _checked(kind: type[ClientT], keywords: dict[str, Any]) -> Timeouts:
    """The timeouts of a client that is to come; what is wrong with a keyword is said before anything is started."""
    return kind("http://127.0.0.1:1", **keywords)._settings.timeouts  # made and dropped


def _container_start(
    image: str, provider: Mapping[str, Any] | None, settings: Mapping[str, str] | None, timeouts: Timeouts
) -> Callable[[], ServerHandle]:
    if not isinstance(image, str):
        raise ConfigurationError(f"image must be the name of an image, not {image!r:.80}.")
    if provider is not None and not isinstance(provider, Mapping):
        raise ConfigurationError(f"provider= takes the docker provider's options as a mapping, not {provider!r:.80}.")
    return _start(server_request(path=None, image=image, provider=provider, settings=settings), timeouts)


def _start(request: ServerRequest, timeouts: Timeouts) -> Callable[[], ServerHandle]:
    chosen = provider_named(request.provider)
    chosen.check(request)
    return lambda: chosen.start(request, Deadline(chosen.start_seconds(request) or timeouts.start))


async def stop_server(server: ServerHandle) -> None:
    """Ends a server and waits until it is gone."""
    await asyncio.wrap_future(_on_thread(server.stop))


def _on_thread(work: Callable[[], _T]) -> Future[_T]:
    """Runs what blocks, on a daemon thread: the interpreter's end ends the servers, and waits for none of these."""
    future: Future[_T] = Future()
    future.set_running_or_notify_cancel()  # from now on it cannot be cancelled: there will be a result

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="openenv-gym client's server", daemon=True).start()
    return future


def _stop_result(starting: Future[ServerHandle]) -> None:
    if starting.exception() is None:
        _on_thread(starting.result().stop)
