"""The tools environment: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_env.models import CallToolAction, CallToolObservation, ListToolsAction, TaskObservation

if TYPE_CHECKING:
    from tools_env.client import ToolsEnv

__all__ = ["CallToolAction", "CallToolObservation", "ListToolsAction", "TaskObservation", "ToolsEnv"]


def __getattr__(name: str) -> Any:
    if name == "ToolsEnv":
        from tools_env.client import ToolsEnv

        return ToolsEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
