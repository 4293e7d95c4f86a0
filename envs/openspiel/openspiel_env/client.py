"""A client that speaks in the models of a game."""

from __future__ import annotations

from openenv_gym.client import EnvClient
from openspiel_env.models import OpenSpielAction, OpenSpielObservation, OpenSpielState


class OpenSpielEnv(EnvClient[OpenSpielAction, OpenSpielObservation, OpenSpielState]):
    """A player's session at a server of one of OpenSpiel's games."""
