"""A client that speaks in the games' models."""

from __future__ import annotations

from openenv_gym.client import EnvClient
from textarena_env.models import TextArenaAction, TextArenaObservation, TextArenaState


class TextArenaEnv(EnvClient[TextArenaAction, TextArenaObservation, TextArenaState]):
    """A player's session at a TextArena server, ours or openenv's."""
