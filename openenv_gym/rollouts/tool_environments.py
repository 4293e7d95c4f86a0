"""What the classes that are made of tools stand on: one session, whose public functions are its tools alone."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from openenv_gym_protocol.errors import InvalidAction, InvalidMessage, OpenEnvGymError
from openenv_gym_protocol.metadata import is_truncated

from openenv_gym.client import GenericEnvClient, StepResult, SyncEnvClient
from openenv_gym.client.models import whole_seed
from openenv_gym.rollouts.episodes import Ending, Episode, Failure, Step
from openenv_gym.rollouts.images import Image
from openenv_gym.rollouts.playing import checked_reward, metadata_of
from openenv_gym.rollouts.sources import EnvironmentSource
from openenv_gym.rollouts.texts import observation_parts
from openenv_gym.rollouts.values import first_difference, json_of, seen

logger = logging.getLogger(__name__)

OVER = "The episode is over."
"""What a model is told with the last observation, and for every call after it."""


class FirstObservations:
    """Remembers how the episodes of a seed began, so that one that begins otherwise is told.

    Args:
        size: How many seeds are remembered.
    """

    def __init__(self, size: int = 4096) -> None:
        self._size = size
        self._known: OrderedDict[bytes, Any] = OrderedDict()
        self._lock = threading.Lock()

    def compare(self, seed: int, options: Mapping[str, Any], observation: Any) -> bool:
        """Whether an episode began as the earlier ones of its seed and options did; if not, that is logged."""
        key, found = json_of([seed, dict(options)]), seen(observation)
        with self._lock:
            expected = self._known.setdefault(key, found)
            self._known.move_to_end(key)
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        difference = first_difference(expected, found)
        if difference is not None:
            logger.warning("Episodes of seed %d did not begin alike: they differ at %s", seed, difference)
        return difference is None


class ToolEnvironment:
    """One session. Its calls may come from any thread, one is served after another.

    Everything here is private: what is public in a class that derives from it is a tool.
    """

    def __init__(
        self,
        source: EnvironmentSource,
        *,
        columns: Sequence[str] = (),
        max_steps: int | None = None,
        firsts: FirstObservations | None = None,
    ) -> None:
        self._source = source
        self._columns = columns
        self._max_steps = max_steps
        self._firsts = firsts or FirstObservations()
        self._lock = threading.RLock()
        self._client: SyncEnvClient[Any, Any, Any] | None = None
        self._began = 0.0
        self._episode = Episode(ending=Ending.INTERRUPTED)  # none was begun

    def _begin(self, row: Mapping[str, Any]) -> tuple[str, list[Image]]:
        """Starts an episode with what a row of the dataset says of it.

        Raises:
            OpenEnvGymError: As for ``EnvClient.reset``.
        """
        seed = row.get("seed")
        options = {name: row[name] for name in self._columns if row.get(name) is not None}
        with self._lock:
            episode = self._episode = Episode(
                seed=None if seed is None else whole_seed(seed), options={**self._source.reset_options, **options}
            )
            self._began = time.monotonic()
            try:
                if self._client is None:
                    self._client = self._source.client(GenericEnvClient).sync()
                result = self._client.reset(seed=episode.seed, **episode.options)
            except OpenEnvGymError as error:
                episode.fail(Failure.of(error, "reset"))
                raise
            episode.first_observation, episode.was_reset = result.observation, True
            episode.reset_reward, episode.reset_metadata = result.reward, result.metadata
            self._note_end(result)
            if episode.seed is not None:
                self._firsts.compare(episode.seed, episode.options, result.observation)
            return self._told(result)

    def _step(self, action: Any) -> tuple[str, list[Image]]:
        """Takes a step; an action that is refused is answered with a text, and is no step.

        Raises:
            OpenEnvGymError: The environment or the connection failed; the episode has failed with it.
        """
        with self._lock:
            episode = self._episode
            if episode.failure is not None:
                return f"Error: the episode failed. {episode.failure.message}", []
            if self._client is None or episode.ending is not None:
                return f"Error: {OVER}", []
            try:
                result = self._client.step(action)
                reward = checked_reward(result.reward)
            except (InvalidAction, InvalidMessage) as error:
                return f"Error: {error.message}", []
            except OpenEnvGymError as error:
                episode.fail(Failure.of(error, "step", action))
                raise
            step = Step(action=action, observation=result.observation, reward=reward, metadata=result.metadata)
            episode.steps.append(step)
            self._note_end(result)
            return self._told(result)

    def _note_end(self, result: StepResult[Any]) -> None:
        episode = self._episode
        is_cut = is_truncated(metadata_of(result)) if result.done else self._is_at_limit()
        if result.done or is_cut:
            episode.ending = Ending.TRUNCATED if is_cut else Ending.TERMINATED
        episode.seconds = time.monotonic() - self._began

    def _is_at_limit(self) -> bool:
        return self._max_steps is not None and len(self._episode.steps) >= self._max_steps

    def _told(self, result: StepResult[Any]) -> tuple[str, list[Image]]:
        text, images = observation_parts(result.observation)
        return (text if self._episode.ending is None else f"{text}\n\n{OVER}"), images

    def _close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            if client is not None:
                client.close()
