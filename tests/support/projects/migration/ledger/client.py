"""The client of the ledger: tools are listed and called, and nothing else is needed."""

from openenv.core.mcp_client import MCPToolClient


class LedgerEnv(MCPToolClient):
    """Lists the ledger's tools and calls them."""
