"""The addresses of a server, from what a user typed."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit, urlunsplit

from openenv_gym_protocol.errors import ConfigurationError

_SECURE_OF = {"ws": False, "http": False, "wss": True, "https": True}
"""Whether a scheme is encrypted; no other scheme is an address of a server."""


def websocket_url(base_url: str) -> str:
    """The address of a server's sessions.

    Args:
        base_url: Where the server is: ``http://host:port``, ``wss://host/prefix``, ``host:port``, with or without
            a trailing ``/`` or ``/ws``.

    Returns:
        A ``ws://`` or ``wss://`` URL that ends in ``/ws``, with the prefix and the query kept.

    Raises:
        ConfigurationError: It is empty, has no host, or has a scheme, port or fragment that no server's address has.
    """
    parts = _parse(base_url)
    scheme = "wss" if _SECURE_OF[parts.scheme] else "ws"
    return urlunsplit((scheme, parts.netloc, f"{_prefix(parts)}/ws", parts.query, ""))


def http_url(base_url: str, path: str) -> str:
    """The address of one of a server's HTTP routes.

    Args:
        base_url: As for ``websocket_url``.
        path: The route, such as ``/schema``.

    Returns:
        An ``http://`` or ``https://`` URL.

    Raises:
        ConfigurationError: As for ``websocket_url``.
    """
    parts = _parse(base_url)
    scheme = "https" if _SECURE_OF[parts.scheme] else "http"
    return urlunsplit((scheme, parts.netloc, f"{_prefix(parts)}/{path.lstrip('/')}", parts.query, ""))


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine: ``localhost``, a name below it, 127.0.0.0/8 or ``::1``."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parse(base_url: str) -> SplitResult:
    text = base_url.strip()
    if not text:
        raise ConfigurationError("base_url is empty; give the server's address, such as http://localhost:8000.")
    parts = _split(text if "://" in text else f"ws://{text}", base_url)
    if parts.scheme not in _SECURE_OF:
        raise ConfigurationError(f"base_url {base_url!r} has the scheme {parts.scheme!r}; use http, https, ws or wss.")
    if not parts.hostname or any(character.isspace() for character in parts.netloc):
        raise ConfigurationError(f"base_url {base_url!r} names no host; write it like http://localhost:8000.")
    if parts.fragment:
        raise ConfigurationError(f"base_url {base_url!r} has a fragment (#{parts.fragment}), which no server sees.")
    return parts


def _split(url: str, base_url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # read for its check: it is parsed only when asked for
    except ValueError as error:
        raise ConfigurationError(f"base_url {base_url!r} is no address: {error}.") from error
    return parts


def _prefix(parts: SplitResult) -> str:
    return parts.path.rstrip("/").removesuffix("/ws").rstrip("/")
