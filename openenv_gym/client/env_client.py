"""The client of one session, for coroutines."""

from __future__ import annotations

import copy
import logging
import os
import weakref
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, SupportsIndex, TypeVar, cast

from openenv_gym_protocol import errors
from openenv_gym_protocol.bodies import Metadata, Schemas
from openenv_gym_protocol.client_session import SessionState
from openenv_gym_protocol.errors import nearest
from openenv_gym_protocol.messages import (
    Reply,
    Request,
    ResetRequest,
    StateReply,
    StateRequest,
    StepRequest,
)
from pydantic import ValidationError

from openenv_gym.client.async_only import AsyncOnly
from openenv_gym.client.channel import Channel
from openenv_gym.client.exchange import Exchange
from openenv_gym.client.models import ClientModels, whole_seed
from openenv_gym.client.results import StepResult, payload_of
from openenv_gym.client.settings import ClientSettings, Mode, check_base_url, connection_options, merge_timeouts
from openenv_gym.client.starting import StartingClient, start_in_container, start_in_space, stop_server
from openenv_gym.client.tasks import TaskCalls
from openenv_gym.providers.base import ServerHandle
from openenv_gym.transports.address import websocket_url
from openenv_gym.transports.http import fetch_metadata, fetch_schema
from openenv_gym.transports.io_thread import io_thread
from openenv_gym.transports.timeouts import Timeouts
from openenv_gym.transports.websocket import open_websocket

if TYPE_CHECKING:
    from openenv_gym.client.sync_client import SyncEnvClient

ActT = TypeVar("ActT")
ObsT = TypeVar("ObsT")
StateT = TypeVar("StateT")

logger = logging.getLogger(__name__)

_OWN_OPTIONS = ("seed", "episode_id")


class EnvClient(TaskCalls, AsyncOnly, Generic[ActT, ObsT, StateT]):
    """A client of one session: one environment of a server, private to this client.

    Name the models, and the class is done::

        class BlackjackEnv(EnvClient[BlackjackAction, BlackjackObservation, State]):
            pass

        async with BlackjackEnv("http://localhost:8000") as env:
            result = await env.reset(seed=7)
            result = await env.step(BlackjackAction(action=1))

    ``env.sync()`` gives the same without coroutines. The connection is opened when first needed and lives on a
    thread of its own, so it outlasts event loops and stays alive while the caller computes. Calls of several
    tasks or threads are answered one after another, each with its own reply.

    When a reply does not come in time, or a caller is cancelled, the session is given up: later calls raise
    ``SessionLost`` until ``reset()`` opens another. A new, un-reset session never takes an old one's place.

    The three methods with a leading underscore may be overridden by clients of payloads that no model describes.

    Args:
        base_url: Where the server is: ``http://localhost:8000``, ``wss://host/prefix``, ``localhost:8000``.
        connect_timeout_s: Seconds for opening a connection; openenv's name for ``timeouts.connect``.
        message_timeout_s: Seconds for every reply; openenv's name for the other time-outs at once.
        max_message_size_mb: The largest frame accepted, in MiB.
        websocket_ping_interval_s: Seconds between pings; None for no pings.
        websocket_ping_timeout_s: Seconds to wait for a pong; None to wait for ever.
        mode: ``simulation`` or ``production``; None asks ``OPENENV_CLIENT_MODE``. Sessions are the same in both.
        headers: Sent with every handshake and HTTP request.
        token: The server's token, or ``env:NAME`` for the value of an environment variable.
        timeouts: Seconds by phase, as ``Timeouts`` or a mapping with its names.
        use_proxy: Whether the environment's proxy settings apply. None: they do, except for loopback addresses.
        ca_file: A file of certificates to trust besides the system's.

    Raises:
        ConfigurationError: An argument cannot be used, or the class names no models.
    """

    _children: list[EnvClient[ActT, ObsT, StateT]]

    def __init__(
        self,
        base_url: str,
        connect_timeout_s: float | None = None,
        message_timeout_s: float | None = None,
        max_message_size_mb: float = 100.0,
        websocket_ping_interval_s: float | None = 20.0,
        websocket_ping_timeout_s: float | None = 60.0,
        *,
        mode: str | None = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
        timeouts: Timeouts | Mapping[str, float | None] | None = None,
        use_proxy: bool | None = None,
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        self._mode = Mode.of(mode)
        self._models = ClientModels.of(type(self), EnvClient)
        merged = merge_timeouts(timeouts, connect_timeout_s, message_timeout_s)
        self._settings = ClientSettings(
            base_url=check_base_url(base_url),
            timeouts=merged,
            options=connection_options(
                token=token,
                headers=headers,
                connect_timeout=merged.connect,
                max_message_size_mb=max_message_size_mb,
                ping_interval=websocket_ping_interval_s,
                ping_timeout=websocket_ping_timeout_s,
                use_proxy=use_proxy,
                ca_file=ca_file,
            ),
        )
        self._server: ServerHandle | None = None
        self._ends_server = False
        self._schema: Schemas | None = None
        self._schema_is_there = True
        self._start_channel()

    @classmethod
    def from_docker_image(
        cls,
        image: str,
        provider: Mapping[str, Any] | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        **keywords: Any,
    ) -> StartingClient[Self]:
        """A client with a container of its own, which ends when the client is closed, or with this process.

        Args:
            image: The image's name.
            provider: The docker provider's options, such as ``{"memory": "512m"}``.
            settings: Environment variables of the server.
            **keywords: Those of the class, but ``base_url`` and ``token``; ``timeouts`` has ``start``.

        Returns:
            The client to be: nothing is started before it is awaited, entered or asked for its ``sync()``.

        Raises:
            UnknownOption: An option that the provider does not have.
            ConfigurationError: An argument cannot be used.
            ProviderError: There is no Docker SDK; when it is awaited, also: the engine cannot be used.
            OpenEnvGymError: (When it is awaited) The server cannot be started or reached.
        """
        return start_in_container(cls, image, provider, settings, keywords)

    @classmethod
    def from_env(
        cls, space: str, *, revision: str | None = None, hub_token: str | None = None, **keywords: Any
    ) -> StartingClient[Self]:
        """A client of the environment in a Hugging Face Space, which is woken if it sleeps; no code of it runs here.

        Args:
            space: The Space in any way that people write one, such as ``owner/name``.
            revision: The branch, tag or commit that has to be what runs there.
            hub_token: ``env:NAME`` of the Hub's token for a private Space; None: as huggingface_hub finds it.
            **keywords: Those of the class, but ``base_url``; ``timeouts`` has ``start``.

        Returns:
            The client to be: await it, enter it or ask for its ``sync()``, as with ``from_docker_image``.

        Raises:
            ConfigurationError: The text names no Space, or another argument cannot be used.
            OpenEnvGymError: (When it is awaited) The Space cannot be seen, woken or reached.
        """
        return start_in_space(cls, space, revision, hub_token, keywords)

    @property
    def base_url(self) -> str:
        """Where the server is."""
        return self._settings.base_url

    @property
    def mode(self) -> Mode:
        """The mode the client was made for."""
        return self._mode

    @property
    def session_state(self) -> SessionState:
        """Where the session stands."""
        return self._channel.state

    async def connect(self) -> Self:
        """Opens the session's connection now instead of at the first call.

        Returns:
            This client.

        Raises:
            ConnectError: No connection could be opened; the message says why and what to do.
            ConnectTimeout: Not in time.
            Unauthorized: The server refused the token or asked for one.
            SessionLost: The session is lost; only ``reset()`` starts another.
        """
        await io_thread().call(self._channel.connect())
        return self

    async def reset(
        self, *, seed: SupportsIndex | None = None, episode_id: str | None = None, **options: Any
    ) -> StepResult[ObsT]:
        """Starts an episode; after a lost session, on a new one.

        Args:
            seed: The environment's seed, an integer of Python or numpy. None lets it choose.
            episode_id: The episode's name. None lets the environment choose.
            **options: The environment's own reset options.

        Raises:
            ConfigurationError: The seed is no integer.
            UnknownOption: The server lists its options and this is none of them. A server of the ``openenv``
                package lists none: it drops what it does not know.
            ReplyTimeout: No reply in time.
            CapacityReached: The server is full.
            OpenEnvGymError: What the server answered, or why no session could be opened.
        """
        if options:
            await self._check_options(options)
        own = {"seed": None if seed is None else whole_seed(seed), "episode_id": episode_id}
        data = {name: value for name, value in own.items() if value is not None} | options
        reply = await self._ask(ResetRequest(data=data), self._settings.timeouts.reset)
        return self._parse_result(payload_of(reply))

    async def step(self, action: ActT, *, timeout_s: float | None = None) -> StepResult[ObsT]:
        """Takes a step.

        Args:
            action: The action, or a mapping of its fields.
            timeout_s: Seconds to wait for this reply, in place of ``timeouts.step``.

        Raises:
            InvalidAction: The action is none of this environment's; nothing was sent.
            InvalidMessage: The server's model refused it; ``errors`` says where.
            ExecutionError: The environment failed. Its session goes on.
            ReplyTimeout: No reply in time. The session is lost.
            SessionLost: There is no session any more; call ``reset()``.
            ConnectionLost: The server died or the network failed during this step. The session is lost.
        """
        request, timeout = self._step_request(action, timeout_s)
        return self._step_result(await self._ask(request, timeout))

    async def state(self) -> StateT:
        """Asks for the environment's state.

        Raises:
            OpenEnvGymError: As for ``step``.
        """
        reply = await self._ask(StateRequest(), self._settings.timeouts.state)
        return self._parse_state(dict(cast(StateReply, reply).data))

    async def schema(self) -> Schemas:
        """The JSON Schemas of the environment's models, asked for once.

        Raises:
            OpenEnvGymError: The server cannot be reached or answers wrongly.
        """
        if self._schema is None:
            settings = self._settings
            self._schema = await io_thread().call(fetch_schema(settings.base_url, settings.options))
        return self._schema

    async def metadata(self) -> Metadata:
        """The environment's name, description and version.

        Raises:
            OpenEnvGymError: The server cannot be reached or answers wrongly.
        """
        return await io_thread().call(fetch_metadata(self._settings.base_url, self._settings.options))

    async def new_session(self) -> Self:
        """Opens another session on the same server.

        Returns:
            A connected client with the same settings. It is closed with this one.

        Raises:
            OpenEnvGymError: As for ``connect``.
        """
        twin = copy.copy(self)
        twin._ends_server = False
        twin._start_channel()
        await twin.connect()
        self._children.append(twin)
        return twin

    async def disconnect(self) -> None:
        """Ends the session but not the client: the next ``reset()`` opens another."""
        await io_thread().call(self._channel.disconnect())

    async def close(self) -> None:
        """Ends the session, the sessions made from it, and the container that was started for them. Idempotent.

        A call under way raises ``ClientClosed``. Where this is cancelled, connections end all the same, at once.
        """
        children, self._children = self._children, []
        try:
            for child in children:
                await child.close()
            await io_thread().call(self._channel.close())
        except BaseException:  # a cancelled one, too: nobody comes back to end them
            for client in (*children, self):
                client._channel.held.release()
            raise
        finally:
            if self._server is not None and self._ends_server:
                await stop_server(self._server)

    def sync(self) -> SyncEnvClient[ActT, ObsT, StateT]:
        """This client without coroutines: for plain code, threads and notebooks."""
        from openenv_gym.client.sync_client import SyncEnvClient  # the twin imports this module

        return SyncEnvClient(self)

    async def __aenter__(self) -> Self:
        return await self.connect()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._settings.shown_url} {self._channel.state.value}>"

    def _step_payload(self, action: ActT) -> dict[str, Any]:
        """The fields of an action, as the server's model expects them."""
        assert self._models.action is not None  # or this method would be overridden
        return self._models.action.write(action)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[ObsT]:
        """Reads a reply's ``data``: observation, reward, done and, from some servers, metadata."""
        return StepResult(
            observation=self._models.read_observation(payload),
            reward=payload.get("reward"),
            done=payload.get("done", False),
            metadata=payload.get("metadata"),
        )

    def _parse_state(self, payload: dict[str, Any]) -> StateT:
        """Reads the environment's state."""
        assert self._models.state is not None
        return cast(StateT, self._models.state.read(payload, "state"))

    def _start_channel(self) -> None:
        settings = self._settings
        self._channel = Channel(websocket_url(settings.base_url), settings.options, open_websocket)
        self._children = []
        # Trainers do not close. What is held knows nothing of this client, so that it does not keep it alive.
        weakref.finalize(self, self._channel.held.release).atexit = False

    def _step_request(self, action: ActT, timeout_s: float | None) -> tuple[Request, float | None]:
        timeout = self._settings.timeouts.step if timeout_s is None else timeout_s
        payload = self._step_payload(action)
        try:
            return StepRequest(data=payload), timeout
        except ValidationError:
            raise errors.InvalidAction(f"An action's fields must have names, not {payload!r:.200}.") from None

    def _step_result(self, reply: Reply) -> StepResult[ObsT]:
        return self._parse_result(payload_of(reply))

    async def _ask(self, request: Request, timeout: float | None) -> Reply:
        channel = self._channel
        shortcut = Exchange(channel, lambda: (request, timeout), lambda reply: reply)
        return await io_thread().call(channel.call(request, timeout), on_unread=channel.drop, shortcut=shortcut)

    async def _check_options(self, options: Mapping[str, Any]) -> None:
        known = await self._reset_options()
        for name in options:
            if known is not None and name not in known:
                raise errors.UnknownOption(
                    f"reset() got an unexpected keyword argument {name!r}. {nearest(name, [*known, *_OWN_OPTIONS])}"
                )

    async def _reset_options(self) -> Collection[str] | None:
        """The options that the server says it knows; None when it does not say."""
        if self._schema is None and self._schema_is_there:
            try:
                await self.schema()
            except errors.OpenEnvGymError as error:
                # Whether the session works is for the session to say.
                logger.debug("%s: the reset options are not known: %s", self._settings.shown_url, error)
                self._schema_is_there = False
        return None if self._schema is None else self._schema.reset_options
