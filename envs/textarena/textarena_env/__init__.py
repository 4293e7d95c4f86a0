"""Text games as an environment project: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textarena_env.models import TextArenaAction, TextArenaMessage, TextArenaObservation, TextArenaState

if TYPE_CHECKING:
    from textarena_env.client import TextArenaEnv

__all__ = ["TextArenaAction", "TextArenaEnv", "TextArenaMessage", "TextArenaObservation", "TextArenaState"]


def __getattr__(name: str) -> Any:
    if name == "TextArenaEnv":
        from textarena_env.client import TextArenaEnv

        return TextArenaEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
