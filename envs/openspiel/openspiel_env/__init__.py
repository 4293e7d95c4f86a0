"""OpenSpiel's games as an environment project: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openspiel_env.models import OpenSpielAction, OpenSpielObservation, OpenSpielState

if TYPE_CHECKING:
    from openspiel_env.client import OpenSpielEnv

__all__ = ["OpenSpielAction", "OpenSpielEnv", "OpenSpielObservation", "OpenSpielState"]


def __getattr__(name: str) -> Any:
    if name == "OpenSpielEnv":
        from openspiel_env.client import OpenSpielEnv

        return OpenSpielEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
