"""The thread that runs this process's event loop for everything that is not itself async.

One thread serves all environments and sync clients of a process: pings are answered while the learner computes.
A forked child gets a new one; the parent's sockets are not its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class IoThread:
    """An event loop on a daemon thread."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="openenv-gym-io", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Runs a coroutine to its end and returns its result, from any other thread.

        A KeyboardInterrupt of the caller cancels the work.

        Raises:
            RuntimeError: Called on the I/O thread itself, which would wait for ever.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("This would block the I/O thread; await the async client there instead.")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


_current: IoThread | None = None
_lock = threading.Lock()


def io_thread() -> IoThread:
    """The I/O thread of this process, started when first asked for."""
    global _current
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = IoThread()
        return _current


def _forget_after_fork() -> None:
    # The child has neither the thread nor a lock that somebody would release.
    global _current, _lock
    _current = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)
