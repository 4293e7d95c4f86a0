"""Reasoning Gym's questions as an environment project: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reasoning_gym_env.models import ReasoningGymAction, ReasoningGymObservation, ReasoningGymState

if TYPE_CHECKING:
    from reasoning_gym_env.client import ReasoningGymEnv

__all__ = ["ReasoningGymAction", "ReasoningGymEnv", "ReasoningGymObservation", "ReasoningGymState"]


def __getattr__(name: str) -> Any:
    if name == "ReasoningGymEnv":
        from reasoning_gym_env.client import ReasoningGymEnv

        return ReasoningGymEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
