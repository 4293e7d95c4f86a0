"""The server's application."""

from __future__ import annotations

from openenv_gym_server import create_app

from openspiel_env.environment import environment_of
from openspiel_env.games import load
from openspiel_env.models import OpenSpielAction, OpenSpielObservation
from openspiel_env.settings import Settings

_settings = Settings.from_environ()

app = create_app(
    environment_of(
        load(_settings.game, _settings.game_params),
        player=_settings.player,
        opponent=_settings.opponent,
        illegal_action=_settings.illegal_action,
    ),
    OpenSpielAction,
    OpenSpielObservation,
    env_name="openspiel",
)


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
