"""The Unix socket at which a server is reached too by clients on its own machine, beside its address.

A message through it costs the kernel about half of what it costs by TCP. Its name follows from the address, so that
nothing has to be agreed on. It is an abstract name of Linux: it belongs to a network namespace, as the address does,
and is gone with the server. What such a name cannot have is an owner: whose process listens is looked up before
anything is sent.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Mapping

IS_SUPPORTED = sys.platform == "linux"
"""Whether this system has abstract names."""


def is_allowed(environ: Mapping[str, str]) -> bool:
    """Whether this end may use such sockets: not with ``OPENENV_GYM_LOCAL_SOCKET=0``."""
    return IS_SUPPORTED and environ.get("OPENENV_GYM_LOCAL_SOCKET") != "0"


def local_name(host: str, port: int) -> str | None:
    """The name of the socket beside an address.

    Args:
        host: The address that a client connects to, or that a server listens at, in numbers.
        port: Its port.

    Returns:
        The name, to bind or to connect to; None for an address that other machines reach, or that is a name.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if address.is_unspecified:
        # Who listens at every address listens at this one, with nobody else.
        address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    return f"\0openenv-gym/{address}/{port}" if address.is_loopback else None
