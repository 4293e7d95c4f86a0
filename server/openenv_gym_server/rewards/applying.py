"""How an environment asks its rubric, and what the trainer learns of it besides the reward.

The rubric is anything that can be called with an action and an observation. What one of this kit's is made of goes into
the observation's metadata, which become the info; no tool's result has them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from openenv_gym_server.rewards.awaiting import wait_here
from openenv_gym_server.rewards.rubric import Rubric
from openenv_gym_server.rewards.trajectory import TrajectoryRubric

COMPONENT = "reward_components."
"""What the metadata's keys of the rubrics inside begin with; their paths follow."""

STEP_REWARDS = "step_rewards"
"""The metadata's key of what each step of an ended episode was worth."""


def apply_rubric(rubric: Any, action: Any, observation: Any) -> Any:
    """The reward of a step, waited for if it has to be; 0.0 without a rubric.

    Raises:
        ExecutionError: The rubric awaits, and this thread has an event loop.
    """
    if rubric is None:
        return 0.0
    _forget(rubric)
    reward = wait_here(rubric(action, observation))
    _tell(rubric, observation)
    return reward


async def apply_rubric_async(rubric: Any, action: Any, observation: Any) -> Any:
    """The same, awaited."""
    if rubric is None:
        return 0.0
    _forget(rubric)
    reward = rubric(action, observation)
    if inspect.isawaitable(reward):
        reward = await reward
    _tell(rubric, observation)
    return reward


def reset_rubric(rubric: Any) -> None:
    """Begins a rubric's episode."""
    if rubric is not None:
        wait_here(rubric.reset())


async def reset_rubric_async(rubric: Any) -> None:
    """The same for one that may have a ``reset_async``."""
    if rubric is not None:
        done = getattr(rubric, "reset_async", rubric.reset)()
        if inspect.isawaitable(done):
            await done


def _forget(rubric: Any) -> None:
    if isinstance(rubric, Rubric):
        for each in rubric.rubrics():
            each.last_score = None


def _tell(rubric: Any, observation: Any) -> None:
    metadata = getattr(observation, "metadata", None)
    if not isinstance(rubric, Rubric) or not isinstance(metadata, Mapping):
        return
    told: dict[str, Any] = {
        f"{COMPONENT}{path}": float(each.last_score)
        for path, each in rubric.named_rubrics()
        if each.last_score is not None
    }
    if isinstance(rubric, TrajectoryRubric) and getattr(observation, "done", False):
        told |= _step_rewards(rubric)
    if told:
        observation.metadata = {**metadata, **told}


def _step_rewards(rubric: TrajectoryRubric) -> dict[str, Any]:
    try:
        return {STEP_REWARDS: [float(reward) for reward in rubric.compute_step_rewards()]}
    except NotImplementedError:
        return {}
