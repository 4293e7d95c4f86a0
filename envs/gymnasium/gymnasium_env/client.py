"""A client that speaks in the models of a Gymnasium environment."""

from __future__ import annotations

from gymnasium_env.models import GymnasiumAction, GymnasiumObservation, GymnasiumState
from openenv_gym.client import EnvClient


class GymnasiumEnv(EnvClient[GymnasiumAction, GymnasiumObservation, GymnasiumState]):
    """A session at a server of a Gymnasium environment.

    It gives observations as JSON has them: lists instead of arrays. ``gymnasium.make("openenv/Gymnasium-v0",
    base_url=...)`` gives them as the space has them.
    """
