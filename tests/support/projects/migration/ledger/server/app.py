"""The application of the ledger."""

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation

try:
    from .ledger_environment import LedgerEnvironment  # noqa: TID252
except ImportError:
    from server.ledger_environment import LedgerEnvironment  # noqa: TID251

app = create_app(LedgerEnvironment, CallToolAction, CallToolObservation, env_name="ledger", max_concurrent_envs=4)
