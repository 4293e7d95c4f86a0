"""A client that speaks in the models of a question and its answer."""

from __future__ import annotations

from openenv_gym.client import EnvClient
from reasoning_gym_env.models import ReasoningGymAction, ReasoningGymObservation, ReasoningGymState


class ReasoningGymEnv(EnvClient[ReasoningGymAction, ReasoningGymObservation, ReasoningGymState]):
    """A session at a server of questions."""
