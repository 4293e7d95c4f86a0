"""Chooses where a session's environment runs."""

from __future__ import annotations

import asyncio

from openenv_gym_server.counters import Counters
from openenv_gym_server.session import Session
from openenv_gym_server.traits import Traits
from openenv_gym_server.workers.asynchronous import AsyncLoop, AsyncWorker
from openenv_gym_server.workers.inline import InlineWorker
from openenv_gym_server.workers.thread import Relay, ThreadWorker, WorkThread


class Homes:
    """Gives sessions their workers, and keeps the thread or loop that sessions share."""

    def __init__(self, traits: Traits, counters: Counters) -> None:
        self._traits = traits
        self._counters = counters
        self._shared_thread: WorkThread | None = None
        self._relay: Relay | None = None
        self.async_loop: AsyncLoop | None = None

    def settle(self, session: Session, thread: WorkThread | None = None) -> None:
        """Gives a session its worker.

        Args:
            session: The session.
            thread: Where inline environments run instead of the event loop.
        """
        loop = asyncio.get_running_loop()
        if self._traits.execution == "async":
            self.async_loop = self.async_loop or AsyncLoop(loop)
            session.home, session.worker = self.async_loop, AsyncWorker(self.async_loop)
        elif self._traits.execution == "inline" and thread is not None:
            session.home, session.worker = thread, ThreadWorker(thread, owned=False)
        elif self._traits.execution == "inline":
            session.worker = InlineWorker(session.session_id, self._counters)
        elif self._traits.single_thread:
            self._shared_thread = self._shared_thread or WorkThread(loop, "openenv-gym-shared")
            session.home, session.worker = self._shared_thread, ThreadWorker(self._shared_thread, owned=False)
        else:
            if self._relay is None or self._relay.loop is not loop:
                self._relay = Relay(loop)
            thread = WorkThread(loop, f"session-{session.session_id[:8]}", self._relay)
            session.worker = ThreadWorker(thread, owned=True)

    def forget(self, home: object) -> None:
        """Gives no more sessions to a thread or loop that is stuck; it ends when its last session is closed."""
        if self.async_loop is not None and home is self.async_loop:
            self.async_loop.retire()
            self.async_loop = None
        elif self._shared_thread is not None and home is self._shared_thread:
            self._shared_thread.end()
            self._shared_thread = None

    def end(self) -> None:
        """Ends what is shared."""
        if self.async_loop is not None:
            self.async_loop.end()
        if self._shared_thread is not None:
            self._shared_thread.end()
