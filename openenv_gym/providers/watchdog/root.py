"""Noticing the end of the tree's root process, whatever ends it."""

from __future__ import annotations

import os
import select

from openenv_gym.providers.location import PoolLocation

POLL_SECONDS = 0.25
"""How often the root is looked for where the system cannot tell its end."""


class Root:
    """The root process of a pool, watched.

    Attributes:
        fd: A descriptor that becomes readable when the root ends; None where the system has none.
    """

    def __init__(self, location: PoolLocation) -> None:
        self._location = location
        self.fd = _pidfd(location.root_pid)
        # The descriptor may be another process's, if the root had ended before it was opened.
        self._ended = not location.root_is_running()

    def has_ended(self) -> bool:
        """Whether the root process has ended."""
        if not self._ended:
            if self.fd is None:
                self._ended = not self._location.root_is_running()
            else:
                self._ended = bool(select.select([self.fd], [], [], 0)[0])
        return self._ended


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        # macOS, an old kernel, a sandbox without the call, or the process has ended.
        return None
