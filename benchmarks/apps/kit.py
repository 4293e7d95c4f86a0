"""The names that an environment is written with: our server kit's or, if ``BENCHMARK_KIT`` says so, openenv's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or os.environ.get("BENCHMARK_KIT") != "openenv":
    from openenv_gym_server import Action, Environment, Observation, State, create_app
else:
    from openenv.core.env_server import Action, Environment, Observation, State, create_app

EXECUTION: Any = os.environ.get("BENCHMARK_EXECUTION") or None
"""``execution`` of the environments, which only our server reads."""

MAX_SESSIONS = 1024
"""More than any configuration opens."""

__all__ = ["EXECUTION", "MAX_SESSIONS", "Action", "Environment", "Observation", "State", "create_app"]
