"""The watchdog's parent, which only waits: should the watchdog be killed, it ends what that owned."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable

from openenv_gym.providers.location import PoolLocation
from openenv_gym.providers.watchdog.leftovers import (
    end_leftover_servers,
    remove_directory,
    try_lock,
    watchdog_answers,
)
from openenv_gym.providers.watchdog.orphans import adopt_orphans, children, is_keeper

_KILL_SECONDS = 2.0

_KEEPERS_SECONDS = 30.0
"""How long keepers are waited for, which end what they keep because the watchdog has gone."""


def run_guarded(
    location: PoolLocation, listener: socket.socket, watchdog: Callable[[PoolLocation, socket.socket], None]
) -> None:
    """Runs the watchdog in a child process and returns when that has ended and nothing of it is left.

    Should this process be killed instead, the watchdog goes on without it.

    Args:
        location: The pool.
        listener: The pool's socket, for the watchdog alone.
        watchdog: Serves the pool to its end.
    """
    # A watchdog that dies leaves its servers to this process, wherever they have put themselves.
    adopt_orphans()
    pid = os.fork()
    if pid == 0:
        watchdog(location, listener)
        os._exit(0)
    # A copy kept here would let users connect to a watchdog that is no more.
    listener.close()
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        _end_all(location)


def _end_all(location: PoolLocation) -> None:
    give_up = time.monotonic() + _KILL_SECONDS
    # What they had started comes to this process only when they are gone.
    while _killed_children() and time.monotonic() < give_up:
        time.sleep(0.01)
    _wait_for_keepers()
    with contextlib.suppress(OSError), try_lock(location) as taken:
        # A new watchdog may have started in the same directory by now.
        if taken and not watchdog_answers(location):
            end_leftover_servers(location)
            remove_directory(location)


def _wait_for_keepers() -> None:
    # They write into the pool's directory, which a new watchdog may use in the meantime: the lock is not held.
    give_up = time.monotonic() + _KEEPERS_SECONDS
    while keepers := [pid for pid in children() if is_keeper(pid)]:
        if time.monotonic() > give_up:
            return
        for pid in keepers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)


def _killed_children() -> int:
    running = [pid for pid in children() if not is_keeper(pid)]
    for pid in running:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # A server leads a group of its own, which goes with it; another orphan does not.
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return len(running)
