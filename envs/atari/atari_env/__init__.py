"""Atari games as an environment project: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atari_env.models import AtariAction, AtariObservation, AtariState

if TYPE_CHECKING:
    from atari_env.client import AtariEnv

__all__ = ["AtariAction", "AtariEnv", "AtariObservation", "AtariState"]


def __getattr__(name: str) -> Any:
    if name == "AtariEnv":
        from atari_env.client import AtariEnv

        return AtariEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
