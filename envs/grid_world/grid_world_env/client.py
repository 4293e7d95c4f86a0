"""A client that speaks in the grid's models."""

from __future__ import annotations

from grid_world_env.models import GridWorldAction, GridWorldObservation, GridWorldState
from openenv_gym.client import EnvClient


class GridWorldEnv(EnvClient[GridWorldAction, GridWorldObservation, GridWorldState]):
    """A walker's session at a grid world server without pictures."""
