"""The server's application."""

from __future__ import annotations

from openenv_gym_server import create_app

from blackjack_env.environment import BlackjackEnvironment
from blackjack_env.models import BlackjackAction, BlackjackObservation

app = create_app(BlackjackEnvironment, BlackjackAction, BlackjackObservation, env_name="blackjack")


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
