"""The server's application."""

from __future__ import annotations

from openenv_gym_protocol.models import Observation
from openenv_gym_protocol.tools import CallToolAction, CallToolObservation
from openenv_gym_server import create_app

from echo_env.environment import EchoEnvironment

app = create_app(
    EchoEnvironment,
    CallToolAction,
    CallToolObservation,
    env_name="echo_env",
    reset_observation_cls=Observation,
)


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
