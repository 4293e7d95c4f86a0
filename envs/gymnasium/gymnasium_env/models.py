"""What is said between a client and a Gymnasium environment.

A server makes its own kind of these models, whose one field has the JSON Schema of the served environment's space.
"""

from __future__ import annotations

from typing import Any

from openenv_gym_protocol.models import Action, Observation, State
from pydantic import Field


class GymnasiumAction(Action):
    """One action."""

    action: Any = Field(description="A value of the action space as JSON: arrays as nested lists")


class GymnasiumObservation(Observation):
    """One observation; its metadata is Gymnasium's info."""

    observation: Any = Field(description="A value of the observation space as JSON: arrays as lists, pixels in base64")


class GymnasiumState(State):
    """Where the episode stands."""

    env_id: str = Field(default="", description="The Gymnasium id that is served")
    keywords: dict[str, Any] = Field(default_factory=dict, description="What the environment was built with")
    terminated: bool = Field(default=False, description="The last step ended the episode")
    truncated: bool = Field(default=False, description="The last step cut the episode off")
