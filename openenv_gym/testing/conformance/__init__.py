"""The conformance kit: checks of any OpenEnv server, and of the folder of an environment project."""

# Importing a module of checks registers them: their order here is the order in which they are made.
# isort: off
from openenv_gym.testing.conformance import folder  # noqa: F401
from openenv_gym.testing.conformance import pages  # noqa: F401
from openenv_gym.testing.conformance import wire  # noqa: F401
from openenv_gym.testing.conformance import schema  # noqa: F401
from openenv_gym.testing.conformance import spaces  # noqa: F401
from openenv_gym.testing.conformance import capacity  # noqa: F401
from openenv_gym.testing.conformance import seeds  # noqa: F401
from openenv_gym.testing.conformance import rewards  # noqa: F401
from openenv_gym.testing.conformance import mcp  # noqa: F401
from openenv_gym.testing.conformance import latency  # noqa: F401
from openenv_gym.testing.conformance import security  # noqa: F401
from openenv_gym.testing.conformance.checks import CHECKS, Check
from openenv_gym.testing.conformance.declaration import Declaration
from openenv_gym.testing.conformance.findings import Finding, Report, Status
from openenv_gym.testing.conformance.validating import validate_project, validate_server
# isort: on

__all__ = ["CHECKS", "Check", "Declaration", "Finding", "Report", "Status", "validate_project", "validate_server"]
