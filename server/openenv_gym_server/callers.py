"""Who is being served: the peer and the id of the request, known to whatever runs for it on the event loop."""

from __future__ import annotations

import ipaddress
import re
import uuid
from collections.abc import Mapping
from contextvars import ContextVar
from typing import NamedTuple

from openenv_gym_server.asgi import Message

REQUEST_ID = b"x-request-id"

_FIT_ID = re.compile(rb"[\w.:+/=-]{1,128}")
_SITE_BITS = 64
_THIS_MACHINE = "127.0.0.1"
_TRACE = (b"traceparent", b"tracestate")


class Caller(NamedTuple):
    """One request, or one connection.

    Attributes:
        request_id: The client's own ``X-Request-ID`` where that is fit for a log, else one made up.
        peer: Whose limits hold: an address, of IPv6 the network that one site has. Who comes by a Unix socket has none,
            and counts as who comes from this machine.
        trace: W3C's headers ``traceparent`` and ``tracestate``, where it has them.
    """

    request_id: str
    peer: str
    trace: Mapping[str, str] = {}


CALLER: ContextVar[Caller | None] = ContextVar("CALLER", default=None)
"""Set for each request; None in threads and outside requests."""


def current_peer() -> str | None:
    """The peer of the request that is being served."""
    caller = CALLER.get()
    return None if caller is None else caller.peer


def caller_of(scope: Message) -> Caller:
    """Who sends a request."""
    told = next((value for name, value in scope["headers"] if name == REQUEST_ID and _FIT_ID.fullmatch(value)), None)
    client = scope.get("client")
    trace = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _TRACE}
    request_id = uuid.uuid4().hex if told is None else told.decode("ascii")
    return Caller(request_id, peer_of(client[0]) if client else _THIS_MACHINE, trace)


def peer_of(address: str) -> str:
    """Whose limits hold for an address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _SITE_BITS), strict=False))
