"""A client that speaks in the game's models."""

from __future__ import annotations

from atari_env.models import AtariAction, AtariObservation, AtariState
from openenv_gym.client import EnvClient


class AtariEnv(EnvClient[AtariAction, AtariObservation, AtariState]):
    """A player's session at an Atari server, ours or openenv's; ``screen`` is an array of uint8 from either."""
