"""MiniGrid as an environment project: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minigrid_env.models import MiniGridAction, MiniGridImageObservation, MiniGridObservation, MiniGridState

if TYPE_CHECKING:
    from minigrid_env.client import MiniGridEnv

__all__ = [
    "MiniGridAction",
    "MiniGridEnv",
    "MiniGridImageObservation",
    "MiniGridObservation",
    "MiniGridState",
]


def __getattr__(name: str) -> Any:
    if name == "MiniGridEnv":
        from minigrid_env.client import MiniGridEnv

        return MiniGridEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
