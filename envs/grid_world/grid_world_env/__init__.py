"""The grid world as an environment project: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grid_world_env.models import (
    GridWorldAction,
    GridWorldObservation,
    GridWorldPictureObservation,
    GridWorldState,
)

if TYPE_CHECKING:
    from grid_world_env.client import GridWorldEnv

__all__ = [
    "GridWorldAction",
    "GridWorldEnv",
    "GridWorldObservation",
    "GridWorldPictureObservation",
    "GridWorldState",
]


def __getattr__(name: str) -> Any:
    if name == "GridWorldEnv":
        from grid_world_env.client import GridWorldEnv

        return GridWorldEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
