"""The server's application."""

from __future__ import annotations

from openenv_gym_protocol.tools import CallToolAction, CallToolObservation
from openenv_gym_server import create_app

from tools_env.environment import ToolsEnvironment
from tools_env.models import TaskObservation

app = create_app(
    ToolsEnvironment,
    CallToolAction,
    CallToolObservation,
    env_name="tools",
    reset_observation_cls=TaskObservation,
)


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
