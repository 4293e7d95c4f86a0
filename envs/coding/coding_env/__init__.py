"""The coding environment: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coding_env.models import CodeAction, CodeObservation, CodeState

if TYPE_CHECKING:
    from coding_env.client import CodingEnv

__all__ = ["CodeAction", "CodeObservation", "CodeState", "CodingEnv"]


def __getattr__(name: str) -> Any:
    if name == "CodingEnv":
        from coding_env.client import CodingEnv

        return CodingEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
