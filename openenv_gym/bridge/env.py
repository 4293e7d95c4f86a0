"""An environment somewhere else, as a ``gymnasium.Env``."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded
from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.messages import Request, ResetRequest, StateReply, StateRequest, StepRequest

from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.lanes import Lanes, reply_of
from openenv_gym.bridge.rows import Row, RowReader
from openenv_gym.bridge.seeds import checked_seed
from openenv_gym.bridge.setup import Keywords, Setup
from openenv_gym.bridge.spaces import View
from openenv_gym.transports.timeouts import Timeouts

OWN_KEYWORDS = (
    *("base_url", "path", "image", "provider", "token", "timeouts", "spaces", "settings"),
    *("reset_options", "render_mode", "declared"),
)


class RemoteEnv(gymnasium.Env[Any, Any]):
    """One session of an environment server.

    It connects at the first ``reset``. One of ``base_url``, ``path`` and ``image`` says where the environment is.

    Args:
        base_url: A server that runs already.
        path: The folder of an environment project, served by a process of its own that is shared with everybody
            in this process tree who asks for the same.
        image: The name of an image that holds one.
        provider: The name of the provider that starts the server, or its options.
        token: The token of a server that runs already; ``env:NAME`` reads it from an environment variable.
        timeouts: Seconds for the phases ``start``, ``connect``, ``reset``, ``step`` and ``state``.
        spaces: ``"flat"`` for numeric trainers, ``"faithful"`` to keep text and structure, None to choose.
        settings: Environment variables of the server.
        reset_options: Sent with every reset.
        render_mode: None: the standard wire carries no pictures.
        declared: What the catalogue says of the environment; with it, construction starts nothing.
        **options: Reset options by their names, where the environment says that it has them.

    Attributes:
        action_space: What ``step`` takes.
        observation_space: What ``reset`` and ``step`` return.

    Raises:
        UnknownOption: A keyword that nobody knows; it is a TypeError.
        ConfigurationError: Keywords that contradict each other.
        OpenEnvGymError: The server had to be asked for its spaces, and could not be.
    """

    metadata: dict[str, Any] = {"render_modes": [], "render_fps": 30}  # noqa: RUF012  (Gymnasium's declaration)

    def __init__(
        self,
        base_url: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        image: str | None = None,
        provider: str | Mapping[str, Any] | None = None,
        token: str | None = None,
        timeouts: Mapping[str, float | None] | Timeouts | None = None,
        spaces: View | None = None,
        settings: Mapping[str, str] | None = None,
        reset_options: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        declared: Declared | None = None,
        **options: Any,
    ) -> None:
        keywords = Keywords(
            base_url=base_url,
            path=path,
            image=image,
            provider=provider,
            token=token,
            timeouts=timeouts,
            spaces=spaces,
            settings=settings,
            reset_options=reset_options,
            render_mode=render_mode,
            declared=declared,
        )
        self._setup = Setup(type(self).__name__, keywords, options, OWN_KEYWORDS)
        self.metadata = {**self.metadata, "render_modes": list(self.metadata["render_modes"])}
        self.render_mode = None
        self.action_space = self._setup.action_space
        self.observation_space = self._setup.observation_space
        self._lanes = Lanes(1, self._setup.source, self._setup.timeouts)
        self._reader = RowReader()
        self._is_closed = False
        # Trainers do not close: the session must not outlive the environment.
        self._finalizer = weakref.finalize(self, self._lanes.discard)

    @property
    def schema(self) -> Schemas:
        """The schemas of the server's models, from ``/schema``. Starts the server when it does not run."""
        return self._setup.interface().schemas

    @property
    def server(self) -> str | None:
        """The address of the server, once it is known."""
        server = self._lanes[0].server or self._setup.source.known(0)
        return None if server is None else server.base_url

    @property
    def session_id(self) -> str | None:
        """The client's name for the running session, which errors tell too; None before the first reset."""
        return self._lanes[0].session_id

    @property
    def episode_id(self) -> str | None:
        """The running episode's id, from the metadata or by asking for the state; None when there is no episode.

        Raises:
            OpenEnvGymError: The state was asked for and could not be read.
        """
        if self._reader.episode_id is None and not self._lanes[0].is_unused and not self._lanes[0].needs_connection:
            found = self.state().get("episode_id")
            self._reader.episode_id = found if isinstance(found, str) else None
        return self._reader.episode_id

    def state(self) -> dict[str, Any]:
        """Asks for the environment's state.

        Raises:
            ResetNeeded: There was no reset yet.
            SessionLost: The session is gone.
            OpenEnvGymError: The environment or the connection failed.
        """
        self._check_started("state")
        reply = reply_of(self._ask(StateRequest()))
        return reply.data if isinstance(reply, StateReply) else {}

    def logs(self, lines: int = 100) -> str:
        """The last lines that the server wrote; empty for a server that runs without us."""
        server = self._lanes[0].server or self._setup.source.known(0)
        return "" if server is None else server.logs(lines)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode, and a session where there is none.

        Args:
            seed: For this episode and, by way of the environment's own random numbers, all that follow. Without
                one, the next episode follows from the last seed.
            options: Reset options that go before the constructor's this once.

        Returns:
            The observation and its info.

        Raises:
            UnknownOption: An option that the environment does not have.
            OpenEnvGymError: The environment or the connection failed.
        """
        seed = None if seed is None else checked_seed(seed)
        super().reset(seed=seed)
        self._lanes.enter_process()
        data = self._setup.reset_data(options)
        self._reader.use(self._setup.interface())
        sent = self._reader.seeds.next(
            seed, is_new_session=self._lanes[0].is_new_session, generator=lambda: self.np_random
        )
        row = self._row(ResetRequest(data=data if sent is None else {**data, "seed": sent}))
        return row.observation, row.info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes a step.

        Args:
            action: A value of the action space, or anything that names one, such as numpy's integers.

        Returns:
            The observation, the reward, whether the episode terminated, whether it was truncated, and the info.

        Raises:
            ResetNeeded: There was no reset yet.
            InvalidAction: The action is outside its space. Nothing was sent.
            SessionLost: The session is gone; only ``reset`` brings another.
            OpenEnvGymError: The environment or the connection failed.
        """
        self._check_started("step")
        return tuple(self._row(StepRequest(data=self._setup.interface().encode_action(action))))

    def render(self) -> Any:
        """Refuses: the standard wire carries no pictures.

        Raises:
            ConfigurationError: Always.
        """
        raise ConfigurationError("This environment renders nothing: the standard wire carries no pictures.")

    def close(self) -> None:
        """Ends the session, within two seconds. Never raises; further calls do nothing."""
        if self._finalizer.detach() is not None:
            self._lanes.close()

    def __repr__(self) -> str:
        server = self.server or "a server not started"
        return f"<{type(self).__name__} at {server}, session {self.session_id}>"

    def __str__(self) -> str:
        return repr(self) if self.spec is None else f"<{type(self).__name__}<{self.spec.id}>>"

    def _check_started(self, call: str) -> None:
        self._lanes.enter_process()
        if self._lanes[0].is_unused:
            raise ResetNeeded(f"Cannot call {call}() before reset().")

    def _row(self, request: Request) -> Row:
        return self._reader.read(self._setup.interface(), reply_of(self._ask(request)))

    def _ask(self, request: Request) -> Any:
        return self._lanes.exchange({0: request})[0]
