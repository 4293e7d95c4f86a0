"""Who decides: policies, one at a time or in batches.

A policy is any async callable that takes an observation and returns an action::

    async def policy(observation):
        return {"action": int(observation["hand"][0] < 17)}

One that remembers something of its episode has a method ``begin``, which gives each episode a policy of its own.
An error of the project's tree (``openenv_gym.errors``) that a policy raises fails its episode, with that error's class;
any other exception ends the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.rollouts.episodes import Episode

Policy: TypeAlias = Callable[[Any], Awaitable[Any]]
"""Takes an observation and returns the action, or a ``Decision``."""


@runtime_checkable
class EpisodicPolicy(Protocol):
    """A policy that remembers something of its episode."""

    def begin(self, episode: Episode) -> Policy:
        """The policy of one episode, which was just reset."""


@dataclass(frozen=True)
class Decision:
    """An action, and what is to be kept with it in the episode and its trace.

    Attributes:
        action: The action.
        data: Anything that JSON can carry: tokens, log-probabilities, messages.
    """

    action: Any
    data: Any = None


def policy_of(policy: Policy | EpisodicPolicy, episode: Episode) -> Policy:
    """The policy that plays one episode.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(policy, EpisodicPolicy):
        return policy.begin(episode)
    if not callable(policy):
        raise ConfigurationError(f"A policy is an async callable of an observation, not {policy!r:.80}.")
    return policy


class BatchPolicy:
    """Decides for several episodes at once, as a model on an accelerator does best.

    It waits until ``size`` episodes ask, or ``wait_s`` seconds after the first of them, whichever is sooner.

    Args:
        decide: Takes the observations, and returns as many actions, in their order.
        size: The most observations of one batch.
        wait_s: How long an observation waits for others, in seconds.
    """

    def __init__(
        self, decide: Callable[[Sequence[Any]], Awaitable[Sequence[Any]]], *, size: int = 64, wait_s: float = 0.005
    ) -> None:
        if size < 1 or wait_s < 0:
            raise ConfigurationError("BatchPolicy needs size= of at least 1 and wait_s= of 0 or more seconds.")
        self._decide = decide
        self._size = size
        self._wait_s = wait_s
        self._next: _Batch | None = None

    async def __call__(self, observation: Any) -> Any:
        """The action for one observation."""
        batch = self._next
        if batch is None:
            batch = self._next = _Batch()
            batch.task = asyncio.create_task(self._run(batch))
        answer = batch.add(observation)
        if len(batch.answers) >= self._size:
            self._close(batch)
        try:
            return await answer
        finally:
            if batch.task is not None and all(each.cancelled() for each in batch.answers):
                self._close(batch)
                batch.task.cancel()  # nobody waits for it any more

    async def _run(self, batch: _Batch) -> None:
        try:
            async with asyncio.timeout(self._wait_s):
                await batch.is_full.wait()
        except TimeoutError:
            self._close(batch)
        asked = [(each, seen) for each, seen in zip(batch.answers, batch.observations, strict=True) if not each.done()]
        try:
            actions = await self._decide([seen for _, seen in asked])
            if len(actions) != len(asked):
                raise ConfigurationError(f"The policy gave {len(actions)} actions for {len(asked)} observations.")
        except Exception as error:
            _settle([each for each, _ in asked], [error] * len(asked))
        else:
            _settle([each for each, _ in asked], actions)

    def _close(self, batch: _Batch) -> None:
        if self._next is batch:
            self._next = None
        batch.is_full.set()


class _Batch:
    """Observations that are decided on together."""

    def __init__(self) -> None:
        self.observations: list[Any] = []
        self.answers: list[asyncio.Future[Any]] = []
        self.is_full = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def add(self, observation: Any) -> asyncio.Future[Any]:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.observations.append(observation)
        self.answers.append(answer)
        return answer


def _settle(answers: Sequence[asyncio.Future[Any]], outcomes: Sequence[Any]) -> None:
    for answer, outcome in zip(answers, outcomes, strict=True):
        if answer.done():
            continue
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)
