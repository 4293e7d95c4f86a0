"""The server's application."""

from __future__ import annotations

from openenv_gym_server import create_app

from grid_world_env.environment import environment_of
from grid_world_env.models import GridWorldAction, GridWorldObservation, GridWorldPictureObservation
from grid_world_env.settings import Settings

_settings = Settings.from_environ()

app = create_app(
    environment_of(_settings.size, has_picture=_settings.picture),
    GridWorldAction,
    GridWorldPictureObservation if _settings.picture else GridWorldObservation,
    env_name="grid_world",
)


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
