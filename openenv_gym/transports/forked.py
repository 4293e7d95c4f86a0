"""Lets a forked child go of its parent's connections."""

from __future__ import annotations

import asyncio
import os
import weakref
from typing import Protocol


class HasTransport(Protocol):
    """One end of an open connection."""

    transport: asyncio.Transport


ends: weakref.WeakSet[HasTransport] = weakref.WeakSet()
"""The ends that a forked child has to let go of; added when they have a transport."""

_inherited: list[HasTransport] = []
"""In a forked child: the parent's ends, kept so that no finalizer touches the event loop they share."""


def _let_go_after_fork() -> None:
    # A child that held these sockets would keep the parent's sessions open after the parent's death. They are
    # replaced, not closed, because the objects still know the numbers; neither reaches the parent's own.
    _inherited.extend(ends)
    ends.clear()
    if not _inherited:
        return
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for end in _inherited:
        _replace_socket(end, nowhere)
    os.close(nowhere)


def _replace_socket(end: HasTransport, nowhere: int) -> None:
    socket = end.transport.get_extra_info("socket")
    if socket is not None and socket.fileno() >= 0:
        os.dup2(nowhere, socket.fileno(), inheritable=False)


os.register_at_fork(after_in_child=_let_go_after_fork)
