"""The server's application."""

from __future__ import annotations

from openenv_gym_server import create_app

from minigrid_env.environment import environment_of
from minigrid_env.models import MiniGridAction, MiniGridImageObservation, MiniGridObservation
from minigrid_env.settings import Settings

_settings = Settings.from_environ()

app = create_app(
    environment_of(_settings.env_id, _settings.observation),
    MiniGridAction,
    MiniGridObservation if _settings.observation == "dict" else MiniGridImageObservation,
    env_name="minigrid",
)


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
