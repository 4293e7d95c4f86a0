"""An episode played again, action by action, to see whether the environment still answers the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from openenv_gym_protocol.errors import FailureClass, OpenEnvGymError

from openenv_gym.client import EnvClient, StepResult
from openenv_gym.rollouts.episodes import Episode
from openenv_gym.rollouts.values import Difference, first_difference, plain, seen

_REPEATABLE = (FailureClass.ENVIRONMENT, FailureClass.VALIDATION)
"""Failures that the same actions should bring about again; the others are the machines'."""


@dataclass(frozen=True)
class Replay:
    """How a replay went.

    Attributes:
        steps: How many steps were played and compared.
        at: The step at which the answers differed first, counted from 1; 0 for the reset; None where none did.
        difference: What differed there: its field is ``observation...``, ``reward``, ``done`` or ``failure``.
    """

    steps: int
    at: int | None = None
    difference: Difference | None = None

    @property
    def is_same(self) -> bool:
        """Whether everything was answered as it was recorded."""
        return self.difference is None

    def __str__(self) -> str:
        if self.difference is None:
            return f"the same in the reset and {self.steps} steps"
        where = "the reset" if self.at == 0 else f"step {self.at}"
        return f"{where} differs at {self.difference}"


async def replay(episode: Episode, client: EnvClient[Any, Any, Any]) -> Replay:
    """Plays an episode's actions again and compares what is answered, until the first difference.

    Compared are observations without their metadata, rewards, and whether the episode had ended. The action on which
    an episode failed by the environment's or its own fault is played too, and has to fail with that class again.

    Args:
        episode: The episode, from a run or from a trace.
        client: A client of one session; it is reset.

    Raises:
        OpenEnvGymError: A failure of the machines: nothing can be said of the environment.
    """
    if not episode.was_reset:
        return await _failing(client, episode, 0) if _is_repeatable(episode) else Replay(0)
    for number, (ask, recorded) in enumerate(_recorded(episode)):
        try:
            result = await (client.reset(seed=episode.seed, **episode.options) if number == 0 else client.step(ask))
        except OpenEnvGymError as error:
            return Replay(max(number - 1, 0), number, _told(error, None))
        difference = first_difference(recorded, _answer(result, recorded))
        if difference is not None:
            return Replay(number, number, difference)
    return await _failing(client, episode, len(episode.steps) + 1)


def _recorded(episode: Episode) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each action, None for the reset, and what was answered."""
    ended_at_once = episode.is_finished and not episode.steps
    first = {"observation": seen(episode.first_observation), "reward": plain(episode.reset_reward)}
    yield None, {**first, "done": ended_at_once}
    for step in episode.steps:
        told = {"observation": seen(step.observation), "reward": plain(step.reward)}
        # A truncated step may be the player's own limit, of which the environment knows nothing.
        yield step.action, told if step.truncated else {**told, "done": step.terminated}


def _answer(result: StepResult[Any], recorded: Collection[str]) -> dict[str, Any]:
    told = {"observation": seen(result.observation), "reward": plain(result.reward), "done": bool(result.done)}
    return {name: told[name] for name in recorded}


def _is_repeatable(episode: Episode) -> bool:
    failure = episode.failure
    return failure is not None and failure.during != "policy" and failure.failure in _REPEATABLE


async def _failing(client: EnvClient[Any, Any, Any], episode: Episode, number: int) -> Replay:
    failure = episode.failure
    if failure is None or not _is_repeatable(episode):
        return Replay(len(episode.steps))
    try:
        if failure.during == "reset":
            await client.reset(seed=episode.seed, **episode.options)
        else:
            await client.step(failure.action)
    except OpenEnvGymError as error:
        difference = None if error.failure is failure.failure else _told(error, failure.failure)
        return Replay(len(episode.steps), None if difference is None else number, difference)
    return Replay(len(episode.steps), number, Difference("failure", str(failure.failure), None))


def _told(error: OpenEnvGymError, expected: FailureClass | None) -> Difference:
    """The difference that a failure is; one of the machines is raised instead."""
    if error.failure not in _REPEATABLE:
        raise error
    found = f"{error.failure} ({type(error).__name__}: {error.message})"
    return Difference("failure", None if expected is None else str(expected), found)
