"""A client that speaks in the table's models."""

from __future__ import annotations

from blackjack_env.models import BlackjackAction, BlackjackObservation, BlackjackState
from openenv_gym.client import EnvClient


class BlackjackEnv(EnvClient[BlackjackAction, BlackjackObservation, BlackjackState]):
    """A player's session at a blackjack server."""
