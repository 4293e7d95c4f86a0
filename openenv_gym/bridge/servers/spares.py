"""Spares: servers that are started in the background before they are needed."""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections.abc import Callable

from openenv_gym_protocol.errors import OpenEnvGymError

from openenv_gym.bridge.servers.server import Server

logger = logging.getLogger(__name__)


class Spare:
    """A server that is started on a thread of its own.

    It takes no lock: it is dropped by finalizers too, which may run on any thread and in forked children.

    Args:
        start: Starts the server of a name.

    Attributes:
        name: The server's name, unlike any other's: nobody else has it.
        has_failed: Whether it could not be started.
    """

    def __init__(self, start: Callable[[str], Server]) -> None:
        self.name = f"spare.{uuid.uuid4().hex}"
        self.has_failed = False
        self._start = start
        self._server: Server | None = None
        self._is_dropped = False
        # A daemon: at the interpreter's end the pool ends what it starts, and nobody has to wait for it.
        threading.Thread(target=self._run, name="openenv-gym spare", daemon=True).start()

    @property
    def is_ready(self) -> bool:
        """Whether it answers."""
        return self._server is not None

    def drop(self) -> None:
        """Ends this use of it, also if it is still being started. Idempotent."""
        self._is_dropped = True
        if self._server is not None:
            self._server.release()

    def _run(self) -> None:
        try:
            self._server = self._start(self.name)
        except OpenEnvGymError as error:
            self.has_failed = True
            if not self._is_dropped:
                logger.warning("A spare server could not be started: %s", error)
        # Set before it is looked at, here and in `drop`: one of the two sees the other.
        if self._is_dropped and self._server is not None:
            self._server.release()


class Spares:
    """So many servers more than are used.

    Args:
        count: How many.
        start: Starts the server of a name. It must not keep the environment alive.
    """

    def __init__(self, count: int, start: Callable[[str], Server]) -> None:
        self._count = count
        self._start = start
        self._spares: list[Spare] = []
        self._pid = os.getpid()

    def fill(self) -> None:
        """Starts those that are missing, in the background. One that fails is logged, and tried again next time."""
        self._enter_process()
        self._spares = [spare for spare in self._spares if not spare.has_failed]
        while len(self._spares) < self._count:
            self._spares.append(Spare(self._start))

    def take(self) -> Spare | None:
        """Hands one out, which the caller drops once it uses the server: one that answers, or else is on its way."""
        self._enter_process()
        usable = [spare for spare in self._spares if not spare.has_failed]
        if not usable:
            return None
        spare = max(usable, key=lambda each: each.is_ready)
        self._spares.remove(spare)
        return spare

    def release(self) -> None:
        """Ends all of them. Idempotent."""
        spares, self._spares = self._spares, []
        for spare in spares:
            spare.drop()

    def _enter_process(self) -> None:
        # A forked child leaves its parent's spares to the parent.
        if self._pid != os.getpid():
            self._pid, self._spares = os.getpid(), []
