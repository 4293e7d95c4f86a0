"""The server's application."""

from __future__ import annotations

from openenv_gym_server import create_app

from coding_env.environment import environment_of
from coding_env.models import CodeAction, CodeObservation
from coding_env.sandbox import make_sandbox
from coding_env.settings import Settings

app = create_app(
    environment_of(make_sandbox(Settings.from_environ())),
    CodeAction,
    CodeObservation,
    env_name="coding_env",
)


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
