"""The client of one session, for code without coroutines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Generic, Self, SupportsIndex, TypeVar

from openenv_gym_protocol.bodies import Metadata, Schemas
from openenv_gym_protocol.client_session import SessionState

from openenv_gym.client.env_client import ActT, EnvClient, ObsT, StateT
from openenv_gym.client.exchange import Exchange
from openenv_gym.client.results import StepResult
from openenv_gym.transports.io_thread import io_thread

_T = TypeVar("_T")


class SyncEnvClient(Generic[ActT, ObsT, StateT]):
    """An ``EnvClient`` whose methods return results instead of awaitables.

    It may be used from any thread, from several at once (their calls are answered one after another), in notebooks
    and inside a running event loop, which it blocks while it waits. After a fork the child meets a lost session:
    ``reset()`` gives it one of its own.

    Methods that a subclass of ``EnvClient`` adds are there too, coroutine methods as plain ones.

    Args:
        async_client: The client that does the work.
    """

    def __init__(self, async_client: EnvClient[ActT, ObsT, StateT]) -> None:
        self._client = async_client

    @property
    def async_client(self) -> EnvClient[ActT, ObsT, StateT]:
        """The client that does the work."""
        return self._client

    @property
    def base_url(self) -> str:
        """Where the server is."""
        return self._client.base_url

    @property
    def session_state(self) -> SessionState:
        """Where the session stands."""
        return self._client.session_state

    def connect(self) -> Self:
        """Opens the session's connection now; see ``EnvClient.connect``."""
        self._run(self._client.connect())
        return self

    def reset(
        self, *, seed: SupportsIndex | None = None, episode_id: str | None = None, **options: Any
    ) -> StepResult[ObsT]:
        """Starts an episode; see ``EnvClient.reset``."""
        return self._run(self._client.reset(seed=seed, episode_id=episode_id, **options))

    def step(self, action: ActT, *, timeout_s: float | None = None) -> StepResult[ObsT]:
        """Takes a step; see ``EnvClient.step``."""
        client = self._client
        work = client.step(action, timeout_s=timeout_s)
        if type(client).step is not EnvClient.step:  # a subclass does more than this would
            return self._run(work)
        shortcut = Exchange(client._channel, lambda: client._step_request(action, timeout_s), client._step_result)
        return io_thread().run(work, on_unread=client._channel.drop, shortcut=shortcut)

    def state(self) -> StateT:
        """Asks for the environment's state; see ``EnvClient.state``."""
        return self._run(self._client.state())

    def schema(self) -> Schemas:
        """The JSON Schemas of the environment's models; see ``EnvClient.schema``."""
        return self._run(self._client.schema())

    def metadata(self) -> Metadata:
        """The environment's name, description and version; see ``EnvClient.metadata``."""
        return self._run(self._client.metadata())

    def list_splits(self) -> list[dict[str, Any]]:
        """The splits of the environment's tasks; see ``EnvClient.list_splits``."""
        return self._run(self._client.list_splits())

    def list_tasks(self, split: str) -> list[Any]:
        """All tasks of a split; see ``EnvClient.list_tasks``."""
        return self._run(self._client.list_tasks(split))

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has; see ``EnvClient.num_tasks``."""
        return self._run(self._client.num_tasks(split))

    def get_task(self, split: str, index: int) -> Any:
        """One task; see ``EnvClient.get_task``."""
        return self._run(self._client.get_task(split, index))

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        """Some tasks; see ``EnvClient.get_task_range``."""
        return self._run(self._client.get_task_range(split, start, stop))

    def new_session(self) -> SyncEnvClient[ActT, ObsT, StateT]:
        """Opens another session on the same server; see ``EnvClient.new_session``."""
        return type(self)(self._run(self._client.new_session()))

    def disconnect(self) -> None:
        """Ends the session but not the client; see ``EnvClient.disconnect``."""
        self._run(self._client.disconnect())

    def close(self) -> None:
        """Ends the session; see ``EnvClient.close``."""
        self._run(self._client.close())

    def __enter__(self) -> Self:
        return self.connect()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name == "_client" or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        value = getattr(self._client, name)
        return self._plain(value) if inspect.iscoroutinefunction(value) else value

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._client!r}>"

    def _plain(self, method: Callable[..., Coroutine[Any, Any, _T]]) -> Callable[..., _T]:
        def call(*args: Any, **keywords: Any) -> _T:
            return self._run(method(*args, **keywords))

        return call

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return io_thread().run(work, on_unread=self._client._channel.drop)
