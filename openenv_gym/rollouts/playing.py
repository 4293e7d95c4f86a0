"""One episode, played in one session."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Mapping
from typing import Any

from openenv_gym_protocol.errors import ExecutionError, OpenEnvGymError
from openenv_gym_protocol.metadata import is_truncated

from openenv_gym.client import EnvClient, StepResult
from openenv_gym.rollouts.episodes import Ending, Episode, Failure, Phase, Step
from openenv_gym.rollouts.policies import Decision, EpisodicPolicy, Policy, policy_of


class Player:
    """Plays one episode.

    Args:
        client: The session's client.
        policy: Who decides.
        episode: What is to be played, with its seed and options; it is filled in.
        max_steps: Steps after which it is truncated; None for no limit.

    Attributes:
        phase: What is under way.
        action: The action that waits for its answer, if there is one.
    """

    def __init__(
        self,
        client: EnvClient[Any, Any, Any],
        policy: Policy | EpisodicPolicy,
        episode: Episode,
        *,
        max_steps: int | None = None,
    ) -> None:
        self._client = client
        self._policy = policy
        self._episode = episode
        self._max_steps = max_steps
        self.phase: Phase = "reset"
        self.action: Any = None

    async def play(self) -> None:
        """Plays it to its end. A failure that has a class is noted in the episode.

        Raises:
            Exception: What the policy raised, where the project's tree does not have it.
        """
        began = time.monotonic()
        try:
            await self._play()
        except OpenEnvGymError as error:
            self._episode.fail(Failure.of(error, self.phase, self.action))
        finally:
            self._episode.seconds = time.monotonic() - began

    async def _play(self) -> None:
        episode = self._episode
        result = await self._client.reset(seed=episode.seed, **episode.options)
        _note_reset(episode, result)
        if result.done:
            _, truncated = flags_of(result)
            episode.ending = Ending.TRUNCATED if truncated else Ending.TERMINATED
            return
        self.phase = "policy"
        policy = policy_of(self._policy, episode)
        while episode.ending is None:
            await self._step(policy)

    async def _step(self, policy: Policy) -> None:
        episode = self._episode
        self.phase = "policy"
        decided = await _decision(policy, episode.last_observation)
        action, data = (decided.action, decided.data) if isinstance(decided, Decision) else (decided, None)
        self.phase, self.action = "step", action
        result = await self._client.step(action)
        reward = checked_reward(result.reward)
        self.action = None
        terminated, truncated = flags_of(result, len(episode.steps) + 1, self._max_steps)
        step = Step(
            action=action,
            observation=result.observation,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            metadata=result.metadata,
            policy_data=data,
        )
        episode.steps.append(step)
        if terminated or truncated:
            episode.ending = Ending.TERMINATED if terminated else Ending.TRUNCATED


def metadata_of(result: StepResult[Any]) -> Mapping[str, Any]:
    """What a server told beside an observation: some servers say it inside it."""
    if result.metadata:
        return result.metadata
    seen = result.observation
    inside = seen.get("metadata") if isinstance(seen, Mapping) else getattr(seen, "metadata", None)
    return inside if isinstance(inside, Mapping) else {}


def flags_of(result: StepResult[Any], steps: int = 0, max_steps: int | None = None) -> tuple[bool, bool]:
    """Whether an answer ends its episode: terminated and truncated.

    Args:
        result: The answer.
        steps: How many steps there were, this one included.
        max_steps: Steps after which the episode is truncated; None for no limit.
    """
    if not result.done:
        return False, max_steps is not None and steps >= max_steps
    truncated = is_truncated(metadata_of(result))
    return not truncated, truncated


def _note_reset(episode: Episode, result: StepResult[Any]) -> None:
    episode.first_observation = result.observation
    episode.reset_reward, episode.reset_metadata = result.reward, result.metadata
    episode.was_reset = True


def checked_reward(reward: float | None) -> float | None:
    """A reward with which numbers can be computed.

    Raises:
        ExecutionError: It is not finite.
    """
    if reward is not None and not math.isfinite(reward):
        raise ExecutionError(f"The environment gave the reward {reward}, with which nothing can be computed.")
    return reward


async def _decision(policy: Policy, observation: Any) -> Any:
    """What a policy decides.

    Raises:
        TypeError: It is no coroutine function.
    """
    decided = policy(observation)
    if not inspect.isawaitable(decided):
        raise TypeError(
            f"The policy gave {decided!r:.80} without being awaited: it must be a coroutine function, `async def`."
        )
    return await decided
