"""Blackjack as an environment project: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blackjack_env.models import BlackjackAction, BlackjackObservation, BlackjackState

if TYPE_CHECKING:
    from blackjack_env.client import BlackjackEnv

__all__ = ["BlackjackAction", "BlackjackEnv", "BlackjackObservation", "BlackjackState"]


def __getattr__(name: str) -> Any:
    if name == "BlackjackEnv":
        from blackjack_env.client import BlackjackEnv

        return BlackjackEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
