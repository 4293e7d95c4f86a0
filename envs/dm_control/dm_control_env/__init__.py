"""The tasks of dm_control's suite as an environment project: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dm_control_env.models import DmControlAction, DmControlObservation, DmControlState

if TYPE_CHECKING:
    from dm_control_env.client import DmControlEnv

__all__ = ["DmControlAction", "DmControlEnv", "DmControlObservation", "DmControlState"]


def __getattr__(name: str) -> Any:
    if name == "DmControlEnv":
        from dm_control_env.client import DmControlEnv

        return DmControlEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
