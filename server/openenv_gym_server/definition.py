"""What an app serves: the environment's factory and its models, and what the class says of itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from openenv_gym_protocol import models, tools
from pydantic import BaseModel

from openenv_gym_server.arrays import array_fields
from openenv_gym_server.traits import Traits, read_traits


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One environment as an app serves it."""

    factory: Callable[..., Any]
    action_class: type[BaseModel]
    observation_class: type[BaseModel]
    reset_observation_class: type[BaseModel]
    state_class: type[BaseModel]
    name: str
    traits: Traits
    action_arrays: dict[str, Any] = field(default_factory=dict)
    """The action's fields that are numpy arrays, with their dtype (None where the model does not say)."""

    tool_actions: dict[str, type[BaseModel]] = field(default_factory=dict)
    """The actions that ``type`` picks, where the app's own action class leaves room for tools."""

    @property
    def factory_name(self) -> str:
        """What errors call the factory."""
        return str(getattr(self.factory, "__name__", self.factory))

    @property
    def class_name(self) -> str:
        """What errors call the environment."""
        found = self.traits.environment_class
        return self.factory_name if found is None else found.__name__


def define(
    factory: Callable[[], Any],
    action_class: type[BaseModel],
    observation_class: type[BaseModel],
    *,
    name: str | None = None,
    state_class: type[BaseModel] | None = None,
    reset_observation_class: type[BaseModel] | None = None,
) -> Definition:
    """Puts together what an app serves.

    Args:
        factory: Makes a new environment; a class or any callable without arguments.
        action_class: The model of actions.
        observation_class: The model of what step returns.
        name: The environment's name in the Task API's paths; the class's or function's name by default.
        state_class: The model of the state; by default what the environment class names as its own.
        reset_observation_class: The model of what reset returns, where it differs.

    Raises:
        TypeError: The factory is not callable.
        ConfigurationError: The class declares an execution that does not exist, or what describes no space.
    """
    if not callable(factory):
        raise TypeError(f"The factory must be a class or a function that makes environments, not {factory!r}.")
    traits = read_traits(factory)
    return Definition(
        factory=factory,
        action_class=action_class,
        observation_class=observation_class,
        reset_observation_class=reset_observation_class or observation_class,
        state_class=state_class or traits.state_class,
        name=name or str(getattr(factory, "__name__", "environment")),
        traits=traits,
        action_arrays=array_fields(action_class),
        tool_actions=_tool_actions(action_class),
    )


def _tool_actions(action_class: type[BaseModel]) -> dict[str, type[BaseModel]]:
    if action_class in (models.Action, tools.ListToolsAction, tools.CallToolAction):
        return {"list_tools": tools.ListToolsAction, "call_tool": tools.CallToolAction}
    # An environment written for openenv compares with openenv's own classes, which its action class leads to.
    package, _, module = action_class.__module__.rpartition(".")
    if package.endswith("env_server") and module in ("types", "mcp_types"):
        stock = sys.modules[f"{package}.mcp_types"]
        return {"list_tools": stock.ListToolsAction, "call_tool": stock.CallToolAction}
    return {}
