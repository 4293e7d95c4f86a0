"""The server's application."""

from __future__ import annotations

from openenv_gym_server import create_app

from textarena_env.models import TextArenaAction, TextArenaObservation
from textarena_env.serving import served
from textarena_env.settings import Settings

app = create_app(served(Settings.from_environ()), TextArenaAction, TextArenaObservation, env_name="textarena")


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
