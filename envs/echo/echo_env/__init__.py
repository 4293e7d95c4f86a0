"""The echo environment: what a client imports.

The server imports the submodules it needs, so the client, and with it Gymnasium, is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from echo_env.models import CallToolAction, EchoAction, EchoObservation, EchoResult, ListToolsAction

if TYPE_CHECKING:
    from echo_env.client import EchoEnv

__all__ = ["CallToolAction", "EchoAction", "EchoEnv", "EchoObservation", "EchoResult", "ListToolsAction"]


def __getattr__(name: str) -> Any:
    if name == "EchoEnv":
        from echo_env.client import EchoEnv

        return EchoEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
