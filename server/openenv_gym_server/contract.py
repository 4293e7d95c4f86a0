"""What all sessions of an app have in common."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any

from openenv_gym_server.config import ServerConfig, ServerMode
from openenv_gym_server.definition import Definition
from openenv_gym_server.failures import FailureReporter
from openenv_gym_server.validation import ActionReader, action_reader

logger = logging.getLogger(__name__)

_MAX_DROPPED_KEYS = 50
_MAX_KEY_LENGTH = 60
"""Bounds for what strangers can write into the log."""


@dataclass
class Contract:
    """What every session of an app has in common."""

    definition: Definition
    config: ServerConfig
    reporter: FailureReporter = field(init=False)
    is_in_production: bool = field(init=False)
    read_action: ActionReader = field(init=False)
    dropped_keys: set[str] = field(default_factory=set)
    """Reset keys that the environment does not take and that were logged already."""
    tracer: Any = None  # OpenTelemetry's, where sessions are traced

    def __post_init__(self) -> None:
        self.reporter = FailureReporter(self.config)
        self.is_in_production = self.config.mode is ServerMode.PRODUCTION
        self.read_action = action_reader(self.definition)

    def enter_debug(self) -> None:
        """Lifts all deadlines and sends tracebacks to clients."""
        self.config = replace(self.config, debug=True)
        self.reporter = FailureReporter(self.config)

    def log_dropped(self, keys: set[str], session_id: str) -> None:
        """Logs reset keys that the environment does not take, each once."""
        known = self.dropped_keys
        new = keys - known
        if not new or len(known) >= _MAX_DROPPED_KEYS:
            return
        known |= new
        logger.warning(
            "Reset keys that %s does not take are dropped (said once): %s",
            self.definition.class_name,
            ", ".join(sorted(repr(key)[:_MAX_KEY_LENGTH] for key in new)[:_MAX_DROPPED_KEYS]),
            extra={"session_id": session_id},
        )
