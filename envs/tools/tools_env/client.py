"""A client that calls the tools."""

from __future__ import annotations

from openenv_gym.mcp_client import MCPToolClient


class ToolsEnv(MCPToolClient):
    """A session at a tools server.

    ::

        with ToolsEnv("http://localhost:8000").sync() as env:
            task = env.reset(seed=1, task="calculate").observation.metadata["task"]
            print(env.call_tool("calculate", expression="6 * 7"))  # 42
            print(env.call("submit").reward)
    """
