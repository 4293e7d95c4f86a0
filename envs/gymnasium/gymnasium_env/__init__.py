"""Any Gymnasium environment as an environment project: what a client imports.

The server imports the submodules it needs, so the client is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium_env.models import GymnasiumAction, GymnasiumObservation, GymnasiumState

if TYPE_CHECKING:
    from gymnasium_env.client import GymnasiumEnv

__all__ = ["GymnasiumAction", "GymnasiumEnv", "GymnasiumObservation", "GymnasiumState"]


def __getattr__(name: str) -> Any:
    if name == "GymnasiumEnv":
        from gymnasium_env.client import GymnasiumEnv

        return GymnasiumEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
