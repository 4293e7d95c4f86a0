"""One server's parts, put together."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from openenv_gym_server.config import ServerConfig
from openenv_gym_server.contract import Contract
from openenv_gym_server.counters import Counters
from openenv_gym_server.definition import Definition
from openenv_gym_server.sessions import Sessions
from openenv_gym_server.sharing import Sharing


@dataclass
class Service:
    """What the routes work with."""

    contract: Contract
    max_sessions: int
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self.sessions = Sessions(self.contract, max_sessions=self.max_sessions, counters=self.counters)
        self.sharing = Sharing(self.sessions)

    @property
    def definition(self) -> Definition:
        """What is served."""
        return self.contract.definition

    @property
    def config(self) -> ServerConfig:
        """The settings."""
        return self.contract.config

    @staticmethod
    def now() -> float:
        """The monotonic clock, in seconds."""
        return time.monotonic()
