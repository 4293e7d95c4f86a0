"""The server's application."""

from __future__ import annotations

from openenv_gym_server import create_app

from terminal_git_env.confining import chosen
from terminal_git_env.environment import environment_of
from terminal_git_env.models import TerminalGitAction, TerminalGitObservation
from terminal_git_env.places import remove_left_over
from terminal_git_env.settings import BUNDLED_TASKS, Settings
from terminal_git_env.tasks import read_tasks

_settings = Settings.from_environ()

remove_left_over()

app = create_app(
    environment_of(
        chosen(_settings.sandbox, [BUNDLED_TASKS.resolve(), _settings.tasks.resolve()]),
        read_tasks(_settings.tasks),
        command_timeout=_settings.command_timeout,
        output_limit=_settings.output_limit,
    ),
    TerminalGitAction,
    TerminalGitObservation,
    env_name="terminal_git",
)


def main() -> None:
    """Serves the environment on this machine's loopback address, port 8000."""
    from openenv_gym_server import serve

    serve(app)
