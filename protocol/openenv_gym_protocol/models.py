"""The models that environments derive theirs from: what an action, an observation and a state always have.

They carry openenv's names and rules, so that a model written for it works here unchanged.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from openenv_gym_protocol.messages import Reward


class _Closed(BaseModel):
    # arbitrary types: numpy arrays may be fields; they travel as nested lists.
    model_config = ConfigDict(extra="forbid", validate_assignment=True, arbitrary_types_allowed=True)


class Action(_Closed):
    """What the agent does; unknown keys are refused."""

    metadata: dict[str, Any] = Field(default_factory=dict, description="Additional metadata for the action")


class Observation(_Closed):
    """What the agent sees. On the wire, ``reward`` and ``done`` travel beside the other fields."""

    done: bool = Field(default=False, description="Whether the episode has terminated")
    reward: Reward = Field(default=None, description="Reward signal from the last action")
    metadata: dict[str, Any] = Field(default_factory=dict, description="Additional metadata for the observation")


class State(BaseModel):
    """Where the episode stands; further fields are allowed."""

    model_config = ConfigDict(extra="allow", validate_assignment=True, arbitrary_types_allowed=True)

    episode_id: str | None = Field(default=None, description="Unique identifier for the current episode")
    step_count: int = Field(default=0, ge=0, description="Number of steps taken in the current episode")
