"""The server's application."""

from __future__ import annotations

from openenv_gym_server import create_app

from reasoning_gym_env.environment import environment_of
from reasoning_gym_env.library import warm_up
from reasoning_gym_env.models import ReasoningGymAction, ReasoningGymObservation
from reasoning_gym_env.settings import Settings

_settings = Settings.from_environ()

warm_up()

app = create_app(
    environment_of(_settings.dataset, _settings.config),
    ReasoningGymAction,
    ReasoningGymObservation,
    env_name="reasoning_gym",
)


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
