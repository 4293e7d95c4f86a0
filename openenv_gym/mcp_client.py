"""A client of environments whose actions are tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from openenv_gym_protocol import errors, jsonrpc
from openenv_gym_protocol.messages import McpReply, McpRequest, Reward
from openenv_gym_protocol.models import Action, Observation, State
from openenv_gym_protocol.tool_errors import tool_error
from openenv_gym_protocol.tools import (
    CallToolAction,
    CallToolObservation,
    ListToolsObservation,
    Tool,
    function_schema,
)
from pydantic import ConfigDict, ValidationError

from openenv_gym.client.env_client import EnvClient
from openenv_gym.client.models import plain_fields
from openenv_gym.client.results import StepResult
from openenv_gym.client.settings import Mode
from openenv_gym.transports.address import http_url

__all__ = ["GenericMCPObservation", "MCPToolClient", "ToolResult"]


class GenericMCPObservation(Observation):
    """What a reset, or an action that is no tool's, returned: any fields."""

    model_config = ConfigDict(extra="allow", validate_assignment=True, arbitrary_types_allowed=True)


@dataclass(frozen=True)
class ToolResult:
    """What a tool call came to.

    Attributes:
        data: The plain value that the tool returned.
        content: MCP's content blocks: texts, and pictures where the tool returned some.
        structured_content: The value as a JSON object, where there is one.
        reward: The step's reward. None where there is none, and always in production mode.
        done: Whether the episode has ended; never in production mode.
    """

    data: Any
    content: list[dict[str, Any]]
    structured_content: dict[str, Any] | None
    reward: Reward
    done: bool


class MCPToolClient(EnvClient[Action, Observation, State]):
    """A client of one session that lists tools and calls them.

    ::

        async with MCPToolClient("http://localhost:8000") as env:
            await env.reset()
            print([tool.name for tool in await env.list_tools()])
            print(await env.call_tool("echo_message", message="Hello"))

    ``env.sync()`` gives the same without coroutines. The names are those of openenv's ``MCPToolClient``; the
    constructor's arguments are those of ``EnvClient``.

    A call is a step of the session, counted and rewarded, on servers of any release of openenv. With
    ``mode="production"`` tools are called as an agent does it, which is all that a server in production mode lets
    anyone do.
    """

    _tools: list[Tool] | None = None

    async def list_tools(self, use_cache: bool = True) -> list[Tool]:
        """The environment's tools; asking for them is no step.

        Args:
            use_cache: Whether an earlier answer will do.

        Raises:
            ExecutionError: The environment has no tools, or cannot list them.
            UnexpectedReply: The answer is no list of tools.
            OpenEnvGymError: As for ``step``.
        """
        if self._tools is None or not use_cache:
            told = await self._call("tools/list", {})
            try:
                self._tools = [_read_tool(each) for each in told["tools"]]
            except (KeyError, TypeError, ValidationError) as error:
                raise errors.UnexpectedReply(f"The server did not answer with a list of tools: {error}.") from error
        return list(self._tools)

    async def get_tool(self, name: str) -> Tool | None:
        """The tool of a name, or None; errors as for ``list_tools``."""
        return next((tool for tool in await self.list_tools() if tool.name == name), None)

    async def has_tool(self, name: str) -> bool:
        """Whether there is a tool of a name; errors as for ``list_tools``."""
        return await self.get_tool(name) is not None

    async def function_schemas(self, use_cache: bool = True) -> list[dict[str, Any]]:
        """The tools in the function format, for ``tools=`` of OpenAI's API and of transformers' chat templates.

        Args:
            use_cache: As for ``list_tools``.

        Raises:
            OpenEnvGymError: As for ``list_tools``.
        """
        return [function_schema(tool) for tool in await self.list_tools(use_cache)]

    async def call_tool(self, name: str, /, **arguments: Any) -> Any:
        """Calls a tool.

        Args:
            name: The tool's name; by position, so that a tool may have an argument called ``name``.
            **arguments: Its arguments.

        Returns:
            The plain value that the tool returned.

        Raises:
            ToolCallError: There is no result; the class and its failure class say why.
            OpenEnvGymError: As for ``step``.
        """
        return (await self.call(name, arguments)).data

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout_s: float | None = None
    ) -> ToolResult:
        """Calls a tool; the same as ``call_tool``, with all that came back.

        Args:
            name: The tool's name.
            arguments: Its arguments by name, as a model of language gives them.
            timeout_s: Seconds to wait for the reply, in place of ``timeouts.step``.

        Raises:
            ToolCallError: There is no result; the class and its failure class say why.
            OpenEnvGymError: As for ``step``.
        """
        given = dict(arguments or {})
        if self.mode is Mode.PRODUCTION:
            told = await self._call("tools/call", {"name": name, "arguments": given}, timeout_s)
            return _read_result(told, None, done=False)
        stepped = await self.step(CallToolAction(tool_name=name, arguments=given), timeout_s=timeout_s)
        observation = stepped.observation
        if not isinstance(observation, CallToolObservation):
            raise errors.UnexpectedReply("The server did not answer a tool call as one. It may have no tools.")
        if observation.error is not None:
            raise tool_error(str(observation.error.error_type), observation.error.message, name)
        return _read_result(observation.result, stepped.reward, done=stepped.done)

    async def session_id(self) -> str:
        """The session's name on the server, by which others may use it; whoever knows it can.

        Raises:
            OpenEnvGymError: As for ``step``.
        """
        told = await self._call("openenv/session/create", {})
        return str(told.get("session_id"))

    async def agent_url(self) -> str:
        """The address at which any MCP client plays in this session: its calls are steps of it.

        Raises:
            OpenEnvGymError: As for ``step``.
        """
        base, _, query = http_url(self.base_url, "/mcp").partition("?")
        kept = [part for part in query.split("&") if part and not part.startswith("session_id=")]
        return f"{base}?{'&'.join([*kept, f'session_id={await self.session_id()}'])}"

    def _step_payload(self, action: Action) -> dict[str, Any]:
        payload = plain_fields(action)
        if payload is None:
            raise errors.InvalidAction(f"An action must be a model or a mapping of its fields, not {action!r}.")
        if not payload.get("metadata", True):
            del payload["metadata"]
        return payload

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[Observation]:
        fields = dict(payload.get("observation") or {})
        fields["metadata"] = payload.get("metadata") or fields.get("metadata") or {}
        fields["reward"], fields["done"] = payload.get("reward"), payload.get("done", False)
        try:
            observation = _read_observation(fields)
        except ValidationError as error:
            raise errors.UnexpectedReply(f"The server's observation cannot be read: {error}.") from error
        return StepResult(observation, observation.reward, observation.done, payload.get("metadata"))

    async def _call(self, method: str, params: dict[str, Any], timeout_s: float | None = None) -> dict[str, Any]:
        call = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        timeout = self._settings.timeouts.step if timeout_s is None else timeout_s
        answer = cast(McpReply, await self._ask(McpRequest(data=call), timeout)).data
        if answer.get("error"):
            raise _read_error(answer["error"], method, params)
        result = answer.get("result")
        if not isinstance(result, dict):
            raise errors.UnexpectedReply(f"The server answered {method} with {type(result).__name__}, not an object.")
        return result


def _read_observation(fields: dict[str, Any]) -> Observation:
    if "tools" in fields:
        tools = [_read_tool(each) for each in fields["tools"]]
        return ListToolsObservation(tools=tools, **{name: fields[name] for name in ("metadata", "reward", "done")})
    if "tool_name" in fields:
        known = {name: value for name, value in fields.items() if name in CallToolObservation.model_fields}
        return CallToolObservation.model_validate(known)
    return GenericMCPObservation.model_validate(fields)


def _read_tool(told: Mapping[str, Any]) -> Tool:
    # openenv's servers send null for a tool without a docstring.
    schema = told.get("input_schema") or told.get("inputSchema") or {}
    return Tool(name=told["name"], description=told.get("description") or "", input_schema=schema)


def _read_result(result: Any, reward: Reward, *, done: bool) -> ToolResult:
    if not isinstance(result, dict) or "data" not in result:
        return ToolResult(result, [], result if isinstance(result, dict) else None, reward, done)
    return ToolResult(result["data"], result.get("content") or [], result.get("structured_content"), reward, done)


def _read_error(told: Mapping[str, Any], method: str, params: Mapping[str, Any]) -> errors.OpenEnvGymError:
    code, message = told.get("code"), str(told.get("message"))
    data = told.get("data") or {}
    if method == "tools/call" and code == jsonrpc.INTERNAL_ERROR:
        return tool_error(data.get("error_type"), message, str(params.get("name")))
    if code in (jsonrpc.INVALID_PARAMS, jsonrpc.INVALID_REQUEST):
        return errors.InvalidMessage(message)
    if code == jsonrpc.METHOD_NOT_FOUND:
        return errors.UnknownMessageType(message)
    return errors.ExecutionError(message)
