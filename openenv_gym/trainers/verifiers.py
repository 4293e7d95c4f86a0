"""Remote environments for verifiers 0.4: a taskset whose tasks are resets, and an environment that plays them.

Importing this module makes the taskset known in this process, by the id ``PLUGIN``::

    from openenv_gym.trainers.verifiers import PLUGIN, RemoteEnvConfig

    config = RemoteEnvConfig(taskset={"id": PLUGIN, "environment": "openenv/Blackjack-v0", "seeds": list(range(8))})

Each task is played in a session of its own: the environment is the user, what it shows is the user's turn, and what the
model answers is read by the action's schema. The sum of the steps' rewards is recorded as ``environment_reward``. A
failure of the environment or the connection is the episode's error and no reward is recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Self

import verifiers.v1 as vf
from pydantic import Field, model_validator

from openenv_gym.rollouts.text_sessions import TextResult, TextSession
from openenv_gym.rollouts.texts import content_of

__all__ = [
    "PLUGIN",
    "RemoteData",
    "RemoteEnv",
    "RemoteEnvConfig",
    "RemoteTask",
    "RemoteTaskset",
    "RemoteTasksetConfig",
]

PLUGIN = "openenv_gym_verifiers"
"""The taskset's id."""

# verifiers imports a plugin by its id, which has to be the name of a module at the top.
sys.modules.setdefault(PLUGIN, sys.modules[__name__])

REWARD = "environment_reward"
"""The name under which an episode's reward is recorded."""


class RemoteData(vf.TaskData):  # type: ignore[misc]
    """What a task is: where it is played, and its reset."""

    environment: str
    keywords: dict[str, Any] = Field(default_factory=dict)
    max_steps: int | None = None
    max_refused: int = 3
    reset: dict[str, Any] = Field(default_factory=dict)


class RemoteTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """The taskset's configuration."""

    environment: str = ""
    """A Gymnasium id, or the address of a server."""
    keywords: dict[str, Any] = Field(default_factory=dict)
    """Those of ``EnvironmentSource``: ``provider``, ``token``, ``timeouts``, reset options."""
    seeds: list[int] = Field(default_factory=list)
    """One task for each seed; or"""
    resets: list[dict[str, Any]] = Field(default_factory=list)
    """one task for each set of a reset's keywords, such as ``{"seed": 7, "size": 3}``."""
    max_steps: int | None = Field(None, gt=0)
    """Steps after which an episode is truncated; None: the id's own limit, if it has one."""
    max_refused: int = Field(3, ge=0)
    """How many answers in a row may be no action, before the episode ends with what it has."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.environment:
            raise ValueError("environment: name a Gymnasium id or the address of a server")
        if self.seeds and self.resets:
            raise ValueError("give one of seeds and resets: they say which tasks there are")
        return self


class RemoteTask(vf.Task[RemoteData]):  # type: ignore[misc]
    """One episode to be played."""


class RemoteTaskset(vf.Taskset[RemoteTask, RemoteTasksetConfig]):  # type: ignore[misc]
    """One task for each reset; one unseeded one where none are named."""

    def load(self) -> Iterator[RemoteTask]:
        """The tasks."""
        config = self.config
        resets = config.resets or [{"seed": seed} for seed in config.seeds] or [{}]
        for number, reset in enumerate(resets):
            data = RemoteData(
                name=f"{config.environment}#{number}",
                prompt=None,
                environment=config.environment,
                keywords=config.keywords,
                max_steps=config.max_steps,
                max_refused=config.max_refused,
                reset=reset,
            )
            yield RemoteTask(data, config.task)


class RemoteEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The environment's configuration; ``player`` is the one who plays."""

    player: vf.AgentConfig = vf.AgentConfig()


class RemoteEnv(vf.Env[RemoteEnvConfig]):  # type: ignore[misc]
    """Plays a task in a session of its own."""

    async def run(self, task: RemoteTask, agents: vf.Agents) -> None:
        """Plays one episode; its failures are raised, and become the episode's errors."""
        data = task.data
        session = TextSession(data.environment, max_steps=data.max_steps, **data.keywords)
        tally = _Tally(data.max_refused)
        try:
            result = await session.reset(**data.reset)
            hint = session.action_text.hint() if session.action_text is not None else ""
            async with agents.player.interaction(task) as interaction:
                message = content_of(f"{result.text}\n\n{hint}", result.images)
                while not result.done:
                    segment = await interaction.turn(message)
                    if segment.terminated:
                        break
                    result = await session.step(segment.last_reply)
                    if tally.is_enough(result):
                        interaction.trace.stop("refused_actions")
                        break
                    message = content_of(result.text, result.images)
        finally:
            await session.close()
        tally.record(interaction.trace, result)


class _Tally:
    """What an episode came to."""

    def __init__(self, max_refused: int) -> None:
        self._max_refused = max_refused
        self._in_a_row = 0
        self._steps = 0
        self._refused = 0
        self._rewards: list[float] = []

    def is_enough(self, result: TextResult) -> bool:
        """Takes a turn in, and says whether too many answers in a row were no action."""
        self._in_a_row = self._in_a_row + 1 if result.refused else 0
        self._refused += result.refused
        self._steps += not result.refused
        if result.reward is not None:
            self._rewards.append(float(result.reward))
        return self._in_a_row > self._max_refused

    def record(self, trace: Any, result: TextResult) -> None:
        """Writes it into a trace: of an episode in which the model failed, or that had no reward, there is none."""
        if self._rewards and not trace.errors:
            trace.record_reward(REWARD, float(sum(self._rewards)))
        ending = {"terminated": float(result.terminated), "truncated": float(result.truncated)}
        for name, value in {"steps": float(self._steps), "refused_actions": float(self._refused), **ending}.items():
            trace.record_metric(name, value)
