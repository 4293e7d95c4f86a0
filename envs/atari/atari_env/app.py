"""The server's application."""

from __future__ import annotations

from openenv_gym_server import create_app

from atari_env.serving import served
from atari_env.settings import Settings

_served = served(Settings.from_environ())

app = create_app(_served.environment_class, _served.action_class, _served.observation_class, env_name="atari")


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
