"""Connects to servers on this machine without TCP, where they listen so: see ``openenv_gym_protocol.local_socket``."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from contextlib import suppress
from urllib.parse import urlsplit

from openenv_gym_protocol.local_socket import is_allowed, local_name

_CREDENTIALS = struct.Struct("iII")
"""Linux's ``struct ucred``: process, user and group."""

_ROOT = 0


async def local_socket(url: str) -> socket.socket | None:
    """A socket that is connected to the server of a ``ws://`` URL, as if by TCP.

    Args:
        url: Where the server is.

    Returns:
        The socket, which does not block; None where the server is to be reached by its address.
    """
    parts = urlsplit(url)
    if parts.scheme != "ws" or not is_allowed(os.environ):
        return None
    name = await _name(parts.hostname or "", parts.port or 80)
    return None if name is None else _connected(name)


async def _name(host: str, port: int) -> str | None:
    if host != "localhost":
        return local_name(host, port)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return None  # as the connection by its address will say
    return local_name(str(found[0][4][0]), port)


def _connected(name: str) -> socket.socket | None:
    try:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError:
        return None  # there is no descriptor left, as the connection by its address will say
    try:
        connection.settimeout(0)
        connection.connect(name)  # is done at once, or not: nobody listens, or too many wait
        if _is_to_be_trusted(connection):
            return connection
    except OSError:
        pass
    connection.close()
    return None


def _is_to_be_trusted(connection: socket.socket) -> bool:
    """Whether the process that listens is this user's or root's: anybody can take a name, and would be told the token.

    It also has to live. What it forked may keep the socket open, and nobody would answer there.
    """
    process, user, _ = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    if user not in (os.geteuid(), _ROOT):
        return False
    with suppress(PermissionError):  # it lives, and is root's
        os.kill(process, 0)
    return True
