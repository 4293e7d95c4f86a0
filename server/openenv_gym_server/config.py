"""The server's settings; the only module that reads environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, cast

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.json_codec import MAX_FRAME_BYTES

DEFAULT_SESSIONS = 1024
"""Sessions of a server whose environment supports concurrent ones and that is told nothing else."""

LONGEST_LINGER = 86400.0
"""Seconds beyond which no linger is set: nobody comes back after so long."""


class ServerMode(StrEnum):
    """What clients may do: in production an agent reaches the tools and not the trainer's controls."""

    SIMULATION = "simulation"
    PRODUCTION = "production"


@dataclass(frozen=True, kw_only=True)
class ConcurrencyConfig:
    """openenv's way to say how many sessions there may be and how long idle ones live.

    Attributes:
        max_concurrent_envs: Sessions the server may hold.
        session_timeout: Idle seconds after which a session without an open socket is closed.
    """

    max_concurrent_envs: int = 1
    session_timeout: float | None = None


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """Every setting of a server. Durations are seconds."""

    mode: ServerMode = ServerMode.SIMULATION
    max_sessions: int | None = None
    token: str | None = None
    capacity_wait: float = 5.0
    reset_timeout: float = 600.0
    step_timeout: float = 300.0
    close_timeout: float = 10.0
    disconnect_grace: float = 5.0
    """What a running call is still given after its client has gone; then its slot is free."""
    session_idle_ttl: float = 1800.0
    mcp_idle_ttl: float = 600.0
    """The same of sessions that agents open, where it is shorter: few of them say goodbye."""
    session_ttl: float = 86400.0
    max_frame_bytes: int = MAX_FRAME_BYTES
    max_lanes: int = 4096
    """Lanes that one connection of the vector wire may have."""
    linger: float = 30.0
    """How long lanes wait for their client to come back after its connection broke; 0: not at all."""
    debug: bool = False
    log_format: Literal["text", "json"] = "text"
    allowed_hosts: tuple[str, ...] = ()
    """What requests may name as ``Host``; none: see ``pages``."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages' origins besides the server's own."""
    is_public: bool = False
    """The server runs in a Space: everybody reaches it by its public name."""
    max_sessions_per_peer: int | None = None
    worker: int | None = None
    """Which of the server's worker processes this is; None where there is only one."""
    request_timeout: float = 30.0
    """How long a client may take to send a request, besides the time that a large one needs."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None, *, mode: str | None = None) -> ServerConfig:
        """Reads the settings.

        Args:
            environ: Where from; the process's own environment by default.
            mode: Beats ``OPENENV_MODE``.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable.
        """
        read = _Reader(os.environ if environ is None else environ)
        return cls(
            mode=_mode(mode if mode is not None else read.text("OPENENV_MODE", "simulation")),
            max_sessions=read.count("MAX_CONCURRENT_ENVS"),
            token=read.text("OPENENV_GYM_TOKEN", "") or None,
            capacity_wait=read.seconds("OPENENV_GYM_CAPACITY_WAIT", cls.capacity_wait),
            reset_timeout=read.seconds("OPENENV_GYM_RESET_TIMEOUT", cls.reset_timeout),
            step_timeout=read.seconds("OPENENV_GYM_STEP_TIMEOUT", cls.step_timeout),
            close_timeout=read.seconds("OPENENV_GYM_CLOSE_TIMEOUT", cls.close_timeout),
            disconnect_grace=read.seconds("OPENENV_GYM_DISCONNECT_GRACE", cls.disconnect_grace),
            session_idle_ttl=read.seconds("OPENENV_GYM_SESSION_IDLE_TTL", cls.session_idle_ttl),
            mcp_idle_ttl=read.seconds("OPENENV_GYM_MCP_IDLE_TTL", cls.mcp_idle_ttl),
            session_ttl=read.seconds("OPENENV_GYM_SESSION_TTL", cls.session_ttl),
            max_frame_bytes=read.count("OPENENV_GYM_MAX_FRAME_BYTES") or cls.max_frame_bytes,
            max_lanes=read.count("OPENENV_GYM_MAX_LANES") or cls.max_lanes,
            linger=min(read.seconds("OPENENV_GYM_LINGER", cls.linger), LONGEST_LINGER),
            debug=read.flag("OPENENV_GYM_DEBUG"),
            log_format=read.log_format("OPENENV_GYM_LOG_FORMAT"),
            allowed_hosts=read.texts("OPENENV_GYM_ALLOWED_HOSTS"),
            allowed_origins=read.texts("OPENENV_GYM_ALLOWED_ORIGINS"),
            is_public=bool(read.text("SPACE_ID", "")),
            max_sessions_per_peer=read.count("OPENENV_GYM_MAX_SESSIONS_PER_PEER"),
            request_timeout=read.seconds("OPENENV_GYM_REQUEST_TIMEOUT", cls.request_timeout),
            worker=read.index("OPENENV_GYM_WORKER"),
        )

    @property
    def agent_idle_ttl(self) -> float:
        """Idle seconds after which a session ends that an agent opened."""
        return min(self.session_idle_ttl, self.mcp_idle_ttl)

    def limit(self, operation: str) -> float | None:
        """How long one call into the environment may take, in seconds; None means for ever."""
        if self.debug:
            return None
        limits = {"construct": self.reset_timeout, "reset": self.reset_timeout, "close": self.close_timeout}
        return limits.get(operation, self.step_timeout)


def export_settings(settings: Mapping[str, str]) -> None:
    """Puts settings where the app, imported afterwards in this process or a child, reads them."""
    os.environ.update(settings)


class _Reader:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str, default: str) -> str:
        return self._environ.get(name, "").strip() or default

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(text.strip() for text in self.text(name, "").split(",") if text.strip())

    def seconds(self, name: str, default: float) -> float:
        text = self.text(name, str(default))
        try:
            value = float(text)
        except ValueError as error:
            raise ConfigurationError(f"{name}={text!r} is not a number of seconds.") from error
        if not value >= 0:
            raise ConfigurationError(f"{name}={text!r} must be 0 or more seconds.")
        return value

    def count(self, name: str) -> int | None:
        text = self.text(name, "")
        if not text:
            return None
        if not text.isdecimal() or int(text) < 1:
            raise ConfigurationError(f"{name}={text!r} must be a whole number of at least 1.")
        return int(text)

    def index(self, name: str) -> int | None:
        text = self.text(name, "")
        return int(text) if text.isdecimal() else None

    def flag(self, name: str) -> bool:
        return self.text(name, "").lower() in ("1", "true", "yes", "on")

    def log_format(self, name: str) -> Literal["text", "json"]:
        text = self.text(name, "text").lower()
        if text not in ("text", "json"):
            raise ConfigurationError(f"{name}={text!r} must be text or json.")
        return cast(Literal["text", "json"], text)


def _mode(text: str) -> ServerMode:
    try:
        return ServerMode(text.lower())
    except ValueError as error:
        raise ConfigurationError(f"The mode must be simulation or production, not {text!r}.") from error


def session_limit(config: ServerConfig, *, argument: int | None, concurrency: Any, concurrent: bool, name: str) -> int:
    """How many sessions a server holds: the environment variable beats the argument, which beats the default.

    Raises:
        ConfigurationError: Both forms of the argument, or several sessions of an environment that allows one.
    """
    if argument is not None and concurrency is not None:
        raise ConfigurationError("Give max_concurrent_envs or concurrency_config, not both.")
    told = argument if concurrency is None else int(concurrency.max_concurrent_envs)
    wanted = config.max_sessions if config.max_sessions is not None else told
    if wanted is None:
        return DEFAULT_SESSIONS if concurrent else 1
    if wanted < 1:
        raise ConfigurationError(f"A server needs at least one session, not {wanted}.")
    if wanted > 1 and not concurrent:
        raise ConfigurationError(
            f"{wanted} concurrent sessions were asked for, but {name} does not declare "
            "SUPPORTS_CONCURRENT_SESSIONS = True. Declare it if instances share nothing, or allow one session."
        )
    return wanted
