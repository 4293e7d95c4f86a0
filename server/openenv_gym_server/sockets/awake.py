"""Keeps the event loop awake for a moment after a reply, so that the request that follows finds it so."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

from openenv_gym_protocol.eagerness import AWAKE_SECONDS, Eagerness, give_way, is_allowed


class Awake:
    """Has the event loop turn for as long as one connection's next request may come at any moment.

    Args:
        is_alone: Whether there is nothing else for the server to do: no other connection, no work under way.
    """

    __slots__ = ("_eagerness", "_is_alone", "_is_scheduled", "_loop", "_until")

    def __init__(self, is_alone: Callable[[], bool]) -> None:
        self._is_alone = is_alone
        self._loop = asyncio.get_running_loop()
        self._eagerness = Eagerness(is_allowed=is_allowed(os.environ))
        self._until: float | None = None
        self._is_scheduled = False

    def replied(self) -> None:
        """Learns that a reply was sent."""
        if self._until is not None or self._eagerness.is_due():
            self._until = time.monotonic() + AWAKE_SECONDS  # uvloop's own time is in whole milliseconds
            self._turn_again()

    def received(self) -> None:
        """Learns that the client has sent something."""
        if self._until is not None:
            self._until = None
            self._eagerness.note(has_paid=True)

    def _turn_again(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._is_scheduled = False
        if self._until is None:
            return
        if not self._is_alone():
            self._until = None
        elif time.monotonic() < self._until:
            give_way()
            self._turn_again()
        else:
            self._until = None
            self._eagerness.note(has_paid=False)
