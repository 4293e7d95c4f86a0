"""A client's constructor arguments, checked once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.transports.address import http_url
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.failures import shown
from openenv_gym.transports.timeouts import Timeouts
from openenv_gym.transports.token import resolve_token

MEBIBYTE = 1024 * 1024


class Mode(StrEnum):
    """openenv's two modes of a client. A session on the standard wire is the same in both."""

    SIMULATION = "simulation"
    PRODUCTION = "production"

    @classmethod
    def of(cls, value: str | None) -> Mode:
        """Reads a mode as a caller writes it; None asks the environment variable ``OPENENV_CLIENT_MODE``.

        Raises:
            ConfigurationError: There is no such mode.
        """
        text = os.environ.get("OPENENV_CLIENT_MODE", cls.SIMULATION) if value is None else value
        try:
            return cls(text.lower())
        except ValueError:
            raise ConfigurationError(f"Mode {text!r} is unknown; use 'simulation' or 'production'.") from None


@dataclass(frozen=True, kw_only=True)
class ClientSettings:
    """What a client needs to open sessions.

    Attributes:
        base_url: Where the server is, as the user wrote it, without a trailing ``/``.
        options: How connections are opened.
        timeouts: How long each phase may take.
    """

    base_url: str = field(repr=False)
    options: ConnectionOptions
    timeouts: Timeouts

    @property
    def shown_url(self) -> str:
        """The address for logs and messages, without the user's name, password and query."""
        return shown(http_url(self.base_url, "/")).rstrip("/")


def check_base_url(base_url: str) -> str:
    """The address without a trailing ``/``.

    Raises:
        ConfigurationError: It is no address of a server.
    """
    http_url(base_url, "/")
    return base_url.strip().rstrip("/")


def merge_timeouts(
    timeouts: Timeouts | Mapping[str, float | None] | None,
    connect_timeout_s: float | None,
    message_timeout_s: float | None,
) -> Timeouts:
    """The time-outs from both ways of saying them: ours by phase, and openenv's two.

    Raises:
        ConfigurationError: Both ways are used at once, or a value is not a positive number.
        UnknownOption: A phase is unknown.
    """
    if timeouts is not None and (connect_timeout_s is not None or message_timeout_s is not None):
        raise ConfigurationError("Give timeouts= or connect_timeout_s= and message_timeout_s=, not both.")
    merged = Timeouts.of(timeouts)
    if connect_timeout_s is not None:
        merged = replace(merged, connect=connect_timeout_s)
    if message_timeout_s is not None:
        merged = replace(merged, reset=message_timeout_s, step=message_timeout_s, state=message_timeout_s)
    return merged


def connection_options(
    *,
    token: str | None,
    headers: Mapping[str, str] | None,
    connect_timeout: float,
    max_message_size_mb: float,
    ping_interval: float | None,
    ping_timeout: float | None,
    use_proxy: bool | None,
    ca_file: str | os.PathLike[str] | None,
) -> ConnectionOptions:
    """The connection's options from a client's arguments.

    Raises:
        ConfigurationError: A size or interval is not positive, or the token cannot be used.
    """
    for name, value in (
        ("max_message_size_mb", max_message_size_mb),
        ("websocket_ping_interval_s", ping_interval),
        ("websocket_ping_timeout_s", ping_timeout),
    ):
        if value is not None and not value > 0:
            raise ConfigurationError(f"{name} must be positive, not {value!r}.")
    return ConnectionOptions(
        headers=dict(headers or {}),
        token=resolve_token(token),
        connect_timeout=connect_timeout,
        ping_interval=ping_interval,
        ping_timeout=ping_timeout,
        max_frame_bytes=int(max_message_size_mb * MEBIBYTE),
        use_proxy=use_proxy,
        ca_file=None if ca_file is None else os.fspath(ca_file),
    )
