"""Sessions in which everything is text: what the adapters for trainers of language models stand on."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import EpisodeOver, InvalidAction, InvalidMessage

from openenv_gym.client import StepResult
from openenv_gym.rollouts.action_texts import ActionText
from openenv_gym.rollouts.images import Image
from openenv_gym.rollouts.playing import checked_reward, flags_of, metadata_of
from openenv_gym.rollouts.seats import Seat
from openenv_gym.rollouts.sources import EnvironmentSource, maker_of, source_of
from openenv_gym.rollouts.texts import observation_parts
from openenv_gym.transports.io_thread import io_thread

ERROR = "error"
"""The key of an info under which it stands why an action was refused; such a turn was no step."""


@dataclass(frozen=True, kw_only=True)
class TextResult:
    """What a reset or a turn came to.

    Attributes:
        text: What the agent is told.
        images: The pictures that the text speaks of.
        reward: The step's reward; None where there was none, and for an action that was refused.
        terminated: Whether the environment's own rules ended the episode.
        truncated: Whether something else did.
        refused: The agent's text was no action: no step was taken.
        info: The environment's metadata; ``error`` says why an action was refused, or why a tool gave no result.
    """

    text: str
    images: list[Image] = field(default_factory=list)
    reward: float | None = None
    terminated: bool = False
    truncated: bool = False
    refused: bool = False
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated


class TextSession:
    """One session, for coroutines. It is opened by the first reset.

    Args:
        environment: A Gymnasium id, the address of a server, or a source.
        max_steps: Steps after which an episode is truncated; None: the id's own limit, if it has one.
        **keywords: Those of ``EnvironmentSource``, where ``environment`` is not one.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(self, environment: str | EnvironmentSource, *, max_steps: int | None = None, **keywords: Any) -> None:
        self._source, self._owns_source = source_of(environment, keywords)
        self._max_steps = self._source.max_steps if max_steps is None else max_steps
        self._seat = Seat(maker_of(self._source))
        self._actions: ActionText | None = None
        self._schemas: Schemas | None = None
        self._steps: int | None = None

    @property
    def schemas(self) -> Schemas | None:
        """What the server says of its models; None before the first reset."""
        return self._schemas

    @property
    def action_text(self) -> ActionText | None:
        """What reads the actions; None before the first reset."""
        return self._actions

    async def reset(self, *, seed: int | None = None, **options: Any) -> TextResult:
        """Starts an episode.

        Args:
            seed: The environment's seed.
            **options: Its reset options.

        Raises:
            OpenEnvGymError: As for ``EnvClient.reset``.
        """
        client = await self._seat.client()
        if self._actions is None:
            self._schemas = await client.schema()
            self._actions = ActionText(self._schemas.action)
        self._steps = None
        result = await client.reset(seed=seed, **{**self._source.reset_options, **options})
        self._steps = 0
        return self._told(result, reward=None)

    async def step(self, text: str) -> TextResult:
        """Takes a turn.

        A text that is no action is answered with a text that says so: that is no step, it has no reward, and its info
        has an ``error``.

        Raises:
            EpisodeOver: No episode is being played.
            OpenEnvGymError: As for ``EnvClient.step``.
        """
        if self._steps is None or self._actions is None:
            raise EpisodeOver("No episode is being played: reset first.")
        client = await self._seat.client()
        try:
            result = await client.step(self._actions.parse(text))
        except (InvalidAction, InvalidMessage) as error:
            return TextResult(text=f"Error: {error.message}", refused=True, info={ERROR: error.message})
        self._steps += 1
        return self._told(result, reward=checked_reward(result.reward))

    async def close(self) -> None:
        """Ends the session. Idempotent; a reset opens another."""
        self._steps = None
        await self._seat.leave()
        if self._owns_source:
            self._source.close()

    def _told(self, result: StepResult[Any], *, reward: float | None) -> TextResult:
        text, images = observation_parts(result.observation)
        info = dict(metadata_of(result))
        error = tool_failure(result.observation)
        if error is not None:
            info[ERROR] = error
        terminated, truncated = flags_of(result, self._steps or 0, self._max_steps)
        if terminated or truncated:
            self._steps = None
        return TextResult(
            text=text, images=images, reward=reward, terminated=terminated, truncated=truncated, info=info
        )


class SyncTextSession:
    """The same for code without coroutines; its calls may come from any thread, one is served after another.

    Args:
        environment: As for ``TextSession``.
        **keywords: Those of ``TextSession``.
    """

    def __init__(self, environment: str | EnvironmentSource, **keywords: Any) -> None:
        self._session = TextSession(environment, **keywords)
        self._lock = threading.Lock()

    @property
    def schemas(self) -> Schemas | None:
        """What the server says of its models; None before the first reset."""
        return self._session.schemas

    @property
    def action_text(self) -> ActionText | None:
        """What reads the actions; None before the first reset."""
        return self._session.action_text

    def reset(self, *, seed: int | None = None, **options: Any) -> TextResult:
        """Starts an episode; see ``TextSession.reset``."""
        with self._lock:
            return io_thread().run(self._session.reset(seed=seed, **options))

    def step(self, text: str) -> TextResult:
        """Takes a turn; see ``TextSession.step``."""
        with self._lock:
            return io_thread().run(self._session.step(text))

    def close(self) -> None:
        """Ends the session; see ``TextSession.close``."""
        with self._lock:
            io_thread().run(self._session.close())


def tool_failure(observation: Any) -> str | None:
    """Why a tool gave no result; None where it did, and for observations that are no tool's."""
    error = observation.get("error") if isinstance(observation, Mapping) and "tool_name" in observation else None
    if not error:
        return None
    return str(error.get("message") if isinstance(error, Mapping) else error)
