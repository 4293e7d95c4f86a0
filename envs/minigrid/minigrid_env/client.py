"""A client that speaks in MiniGrid's models."""

from __future__ import annotations

from minigrid_env.models import MiniGridAction, MiniGridObservation, MiniGridState
from openenv_gym.client import EnvClient


class MiniGridEnv(EnvClient[MiniGridAction, MiniGridObservation, MiniGridState]):
    """An agent's session at a server whose observations are whole ones."""
