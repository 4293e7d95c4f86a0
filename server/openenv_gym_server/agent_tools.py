"""What an agent may do with an environment: list its tools and call them. Runs where the environment runs.

The transports for agents stand on this: OpenEnv's JSON-RPC subset and MCP itself. A call is a step; its reward is for
the trainer alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from openenv_gym_protocol import tools
from openenv_gym_protocol.errors import EnvironmentFailure
from openenv_gym_protocol.tools import Tool, ToolError
from pydantic import BaseModel, ValidationError

from openenv_gym_server.dispatch import Host


class NoTools(EnvironmentFailure):
    """The environment has no tools at all."""


class Called(NamedTuple):
    """What a call came to."""

    result: Any
    """The result object of the wire, or whatever an environment of another kit has in its place."""
    error: ToolError | None


async def list_tools(host: Host) -> list[Tool]:
    """The tools; asking for them is no step where the environment has a ``list_tools``.

    Raises:
        NoTools: It has none.
        ExecutionError: The environment failed.
    """
    try:
        listed: list[Tool] = await host.call_method("list_tools")
        return listed
    except NotImplementedError:
        action = _action(host, "list_tools")
    result = await host.take(action)
    if "tools" not in result.observation or (result.metadata or {}).get("error_type"):
        raise NoTools(f"{host.contract.definition.class_name} does not list its tools.")
    try:
        return [Tool.model_validate(each) for each in result.observation["tools"]]
    except ValidationError as error:
        raise host.report(error, "list_tools") from error


async def call_tool(host: Host, name: str, arguments: dict[str, Any]) -> Called:
    """Calls a tool.

    Raises:
        NoTools: The environment has no tools.
        InvalidMessage: The environment raised ``InvalidAction``.
        ExecutionError: The environment failed.
    """
    observation = (await host.take(_action(host, "call_tool", tool_name=name, arguments=arguments))).observation
    error = observation.get("error")
    return Called(observation.get("result"), None if error is None else ToolError.model_validate(error))


def _action(host: Host, kind: str, **fields: Any) -> BaseModel:
    known = host.contract.definition.tool_actions
    if not known and host.has_tools:
        known = {"list_tools": tools.ListToolsAction, "call_tool": tools.CallToolAction}
    if kind not in known:
        raise NoTools(f"{host.contract.definition.class_name} has no tools.")
    return known[kind](**fields)
