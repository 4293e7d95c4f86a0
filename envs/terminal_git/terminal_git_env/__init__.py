"""The terminal with git as an environment project: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from terminal_git_env.models import TerminalGitAction, TerminalGitObservation, TerminalGitState

if TYPE_CHECKING:
    from terminal_git_env.client import TerminalGitEnv

__all__ = ["TerminalGitAction", "TerminalGitEnv", "TerminalGitObservation", "TerminalGitState"]


def __getattr__(name: str) -> Any:
    if name == "TerminalGitEnv":
        from terminal_git_env.client import TerminalGitEnv

        return TerminalGitEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
