"""The tools of an MCP server object: FastMCP's, or the one of the official SDK."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.tools import Tool
from pydantic import ValidationError

from openenv_gym_server.tool_extras import ExplainedTool, read_extras
from openenv_gym_server.tool_functions import check_tool_name, wrong_arguments
from openenv_gym_server.tool_results import served_result

_T = TypeVar("_T")


class ServedTool:
    """One tool of an MCP server object.

    Attributes:
        tool: Name, description and input schema, as they travel.
        is_async: Calling it gives an awaitable.
    """

    is_async = True

    def __init__(self, server: Any, tool: Tool) -> None:
        check_tool_name(tool.name)
        self.tool = tool
        self._server = server

    async def start(self, arguments: dict[str, Any]) -> Any:
        """Calls the tool.

        Raises:
            ToolFailed: The arguments do not fit.
            Exception: What the server raised.
        """
        try:
            return await self._server.call_tool(self.tool.name, arguments)
        except Exception as error:
            # FastMCP's ValidationError, which has pydantic's as its cause, is about the arguments of the call.
            fault = error if isinstance(error, ValidationError) else error.__cause__
            if isinstance(fault, ValidationError) and type(error).__name__ == "ValidationError":
                raise wrong_arguments(fault, self.tool.name) from error
            raise

    def result(self, value: Any) -> dict[str, Any]:
        """What the server returned, as the wire carries it; see ``served_result``."""
        return served_result(value)


def tools_of(server: Any) -> list[ServedTool]:
    """Reads the tools of an MCP server object, as they are now.

    Args:
        server: An object with the coroutine methods ``list_tools`` and ``call_tool``: a FastMCP server of 3.0 or later,
            or the server class of the official SDK.

    Raises:
        ConfigurationError: It has none, or a tool has a reserved name.
    """
    if not callable(getattr(server, "list_tools", None)) or not callable(getattr(server, "call_tool", None)):
        raise ConfigurationError(
            f"{type(server).__name__} is no MCP server that tools can be taken from: it needs list_tools and call_tool."
        )
    return [ServedTool(server, _described(each)) for each in _run(server.list_tools())]


def _described(told: Any) -> Tool:
    if hasattr(told, "to_mcp_tool"):
        told = told.to_mcp_tool()
    schema = getattr(told, "input_schema", None) or getattr(told, "inputSchema", {})
    tool = Tool(name=told.name, description=told.description or "", input_schema=schema)
    return ExplainedTool.of(tool, read_extras(told))


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: Future[_T] = Future()
    thread = threading.Thread(target=lambda: outcome.set_result(asyncio.run(work)))
    thread.start()
    thread.join()
    return outcome.result(0)
