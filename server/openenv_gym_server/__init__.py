"""What an environment author imports: the environment's base classes and what serves them.

The names are those of ``openenv.core.env_server``, so that porting an environment means changing the import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openenv_gym_protocol.bodies import Metadata as EnvironmentMetadata
    from openenv_gym_protocol.models import Action, Observation, State
    from openenv_gym_protocol.tools import (
        CallToolAction,
        CallToolObservation,
        ListToolsAction,
        ListToolsObservation,
        Tool,
        ToolError,
        ToolErrorType,
    )

    from openenv_gym_server.app import create_app, create_fastapi_app
    from openenv_gym_server.config import ConcurrencyConfig, ServerMode
    from openenv_gym_server.environment import Environment, Transform, truncated
    from openenv_gym_server.mcp import MCPEnvironment
    from openenv_gym_server.serve import Tls, serve
    from openenv_gym_server.tasks import TaskProvider
    from openenv_gym_server.tool_episode import ToolState
    from openenv_gym_server.tool_results import ToolImage
    from openenv_gym_server.vector_environment import ResetArrays, StepArrays, VectorEnvironment

__all__ = [
    "Action",
    "CallToolAction",
    "CallToolObservation",
    "ConcurrencyConfig",
    "Environment",
    "EnvironmentMetadata",
    "ListToolsAction",
    "ListToolsObservation",
    "MCPEnvironment",
    "Observation",
    "ResetArrays",
    "ServerMode",
    "State",
    "StepArrays",
    "TaskProvider",
    "Tls",
    "Tool",
    "ToolError",
    "ToolErrorType",
    "ToolImage",
    "ToolState",
    "Transform",
    "VectorEnvironment",
    "create_app",
    "create_fastapi_app",
    "serve",
    "truncated",
]

_MODULES = {
    "openenv_gym_protocol.models": ("Action", "Observation", "State"),
    "openenv_gym_protocol.tools": (
        "CallToolAction",
        "CallToolObservation",
        "ListToolsAction",
        "ListToolsObservation",
        "Tool",
        "ToolError",
        "ToolErrorType",
    ),
    "openenv_gym_server.app": ("create_app", "create_fastapi_app"),
    "openenv_gym_server.config": ("ConcurrencyConfig", "ServerMode"),
    "openenv_gym_server.environment": ("Environment", "Transform", "truncated"),
    "openenv_gym_server.mcp": ("MCPEnvironment",),
    "openenv_gym_server.serve": ("Tls", "serve"),
    "openenv_gym_server.tasks": ("TaskProvider",),
    "openenv_gym_server.tool_episode": ("ToolState",),
    "openenv_gym_server.tool_results": ("ToolImage",),
    "openenv_gym_server.vector_environment": ("ResetArrays", "StepArrays", "VectorEnvironment"),
}
_HOMES = {name: (module, name) for module, names in _MODULES.items() for name in names}
_HOMES["EnvironmentMetadata"] = ("openenv_gym_protocol.bodies", "Metadata")


def __getattr__(name: str) -> Any:
    # Lazy, so that an environment's models can be imported without the web framework.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _HOMES[name]
    return getattr(import_module(module), original)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
