"""The tools of MCP server objects: what is read of them, and what their calls come to."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.tools import ToolErrorType
from openenv_gym_server.tool_extras import extras_of
from openenv_gym_server.tool_functions import ToolFailed
from openenv_gym_server.tool_servers import ServedTool, tools_of


def shop() -> MCPServer:
    server = MCPServer("shop")

    @server.tool(title="Price list", annotations=ToolAnnotations(read_only_hint=True))
    def price(item: str, count: int = 1) -> int:
        """What it costs."""
        return count * len(item)

    @server.tool()
    def fail() -> None:
        raise ValueError("sold out")

    return server


def named(name: str) -> ServedTool:
    return next(tool for tool in tools_of(shop()) if tool.tool.name == name)


def test_tools_are_read_with_their_descriptions_schemas_titles_and_hints() -> None:
    price = named("price").tool
    assert price.description == "What it costs."
    assert price.input_schema["required"] == ["item"]
    assert extras_of(price) == ("Price list", {"readOnlyHint": True})
    assert extras_of(named("fail").tool) == (None, None)


def test_extras_are_not_on_openenvs_wire() -> None:
    assert named("price").tool.model_dump().keys() == {"name", "description", "input_schema"}


def test_tools_are_read_where_a_loop_runs_too() -> None:
    async def work() -> list[str]:
        return [tool.tool.name for tool in tools_of(shop())]

    assert asyncio.run(work()) == ["price", "fail"]


def test_a_call_gives_the_servers_result() -> None:
    price = named("price")
    returned = asyncio.run(price.start({"item": "tea", "count": 2}))
    assert price.result(returned)["data"] == 6


def test_arguments_that_do_not_fit_are_refused_as_those_of_functions() -> None:
    server = SimpleNamespace(call_tool=_refuse)
    tool = ServedTool(server, named("price").tool)
    with pytest.raises(ToolFailed) as refused:
        asyncio.run(tool.start({}))
    assert refused.value.error.error_type == ToolErrorType.INVALID_ARGS


async def _refuse(name: str, arguments: dict[str, Any]) -> Any:
    from pydantic import validate_call

    @validate_call
    def price(item: str) -> None: ...

    return price(**arguments)


def test_what_the_tool_raises_comes_out() -> None:
    with pytest.raises(Exception, match="executing tool fail"):
        asyncio.run(named("fail").start({}))


@pytest.mark.parametrize("server", [object(), SimpleNamespace(list_tools=lambda: [])])
def test_an_object_without_tools_is_refused_with_what_it_lacks(server: object) -> None:
    with pytest.raises(ConfigurationError, match="needs list_tools and call_tool"):
        tools_of(server)
