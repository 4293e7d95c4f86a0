"""Web pages: whose may use this server, by the headers ``Host`` and ``Origin``.

A browser lets any page send requests to this machine. It names the page's site in ``Origin``, at every WebSocket and at
every request that changes something, and no page can alter that; programs name none. Two attacks follow:

- *Cross-site requests and WebSockets*: a page of another site asks. Its ``Origin`` is not the ``Host`` that it asks.
- *DNS rebinding*: a site points its own name at this machine, so that ``Origin`` and ``Host`` agree. What gives it away
  is the name: one that somebody can own in the public DNS.

So without a list of hosts only what a browser sends is judged by ``Host``: programs reach a server by whatever name a
container, a cluster or a tunnel gives it. With a token nothing is judged by it: no page knows the token.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

ALL = "*"

_UNOWNED = ("localhost", "local", "internal", "svc", "test", "home.arpa")
"""The ends of names that nobody can own in the public DNS."""

_BROWSERS = frozenset({b"origin", b"accept-language", b"sec-fetch-site"})
"""Headers that browsers always send and that a page cannot suppress; one of them makes a request a browser's."""


class Refusal(NamedTuple):
    """Why a request is refused.

    Attributes:
        status: Of HTTP.
        reason: ``host`` or ``origin``.
        detail: What to tell, with the remedy.
    """

    status: int
    reason: str
    detail: str


class PageRules:
    """Judges requests by their headers.

    Args:
        hosts: The hosts that may be asked for: ``name``, ``name:port``, ``*.domain``, or ``*`` for all. With any of
            them every request has to name one of them, or this machine's own name; with none the rules above hold.
        origins: Origins besides the server's own: ``https://name``, ``https://*.domain``, or ``*`` for all.
        is_protected: Without a list no request is judged by ``Host``: there is a token, or the server is public.
    """

    def __init__(self, *, hosts: Sequence[str] = (), origins: Sequence[str] = (), is_protected: bool = False) -> None:
        self._hosts = [host.lower() for host in hosts]
        self._origins = [origin.lower().rstrip("/") for origin in origins]
        self._is_protected = is_protected

    def refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> Refusal | None:
        """Why a request with these headers, of lower-case names, is refused; None if it is not."""
        hosts, origins, is_browsers = [], [], False
        for name, value in headers:
            is_browsers = is_browsers or name in _BROWSERS
            if name == b"host":
                hosts.append(value.decode("latin-1").strip().lower())
            elif name == b"origin":
                origins.append(value.decode("latin-1").strip().lower())
        if len(hosts) > 1 or len(origins) > 1:
            return Refusal(400, "host" if len(hosts) > 1 else "origin", "A header is there twice that tells one thing.")
        host = hosts[0] if hosts else ""
        if not self._knows_host(host, is_browsers=is_browsers):
            return Refusal(421, "host", _unknown_host(host))
        if origins and not self._knows_origin(origins[0], host):
            return Refusal(403, "origin", _foreign(origins[0]))
        return None

    def _knows_host(self, host: str, *, is_browsers: bool) -> bool:
        if self._hosts:
            return is_loopback(_name_of(host)) or any(_matches(host, pattern) for pattern in self._hosts)
        return self._is_protected or not is_browsers or not _can_be_owned(_name_of(host))

    def _knows_origin(self, origin: str, host: str) -> bool:
        try:
            site = urlsplit(origin).netloc
        except ValueError:
            return False
        return (bool(site) and site == host) or any(_matches_origin(origin, pattern) for pattern in self._origins)


def is_listed(origin: str, origins: Iterable[str]) -> bool:
    """Whether an origin, in lower case, is one of a list's by name or domain: all of them are none by name."""
    return any(pattern != ALL and _matches_origin(origin, pattern) for pattern in origins)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name_of(host: str) -> str:
    """A host without its port, brackets and final dot; empty where it is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _can_be_owned(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        is_unowned = any(name == end or name.endswith(f".{end}") for end in _UNOWNED)
        # A name of one label, such as a container's, is in no public DNS.
        return not name or ("." in name and not is_unowned)
    return False


def _matches(host: str, pattern: str) -> bool:
    if pattern in (ALL, host):
        return True
    name = _name_of(host)
    return name.endswith(pattern[1:]) if pattern.startswith("*.") else bool(name) and name == pattern.strip("[]")


def _matches_origin(origin: str, pattern: str) -> bool:
    scheme, _, site = pattern.partition("://")
    if not site.startswith("*."):
        return pattern in (ALL, origin)
    return origin.startswith(f"{scheme}://") and origin.endswith(site[1:])


def _unknown_host(host: str) -> str:
    return (
        f"This server does not go by the name {host[:100]!r}: list it in OPENENV_GYM_ALLOWED_HOSTS, or set a token "
        "(OPENENV_GYM_TOKEN)."
    )


def _foreign(origin: str) -> str:
    return f"Pages of {origin[:100]!r} may not use this server: list the origin in OPENENV_GYM_ALLOWED_ORIGINS."
