"""A client that speaks in the terminal's models."""

from __future__ import annotations

from openenv_gym.client import EnvClient
from terminal_git_env.models import TerminalGitAction, TerminalGitObservation, TerminalGitState


class TerminalGitEnv(EnvClient[TerminalGitAction, TerminalGitObservation, TerminalGitState]):
    """An agent's session at a terminal server."""
