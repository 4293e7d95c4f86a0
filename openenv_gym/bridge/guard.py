"""One call of an environment at a time, and no call left half done.

A call may end anywhere: by a KeyboardInterrupt, by whatever a signal handler raises, by a second signal while the first
is seen to. So nothing is put right piece by piece on the way out. A call that has begun to send or to take answers says
so; unless it comes to its own end, everything that it may have touched is given up, now or before the next call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from openenv_gym_protocol.errors import OpenEnvGymError

from openenv_gym.errors import ConcurrentCall

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Guard:
    """Who is inside an environment, and whether a call has begun there that its caller was not told the end of.

    Attributes:
        lock: Held by the thread that is inside.
        is_at_work: Requests may have been sent, or answers taken, that nobody was told of.
    """

    __slots__ = ("_pid", "is_at_work", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_at_work = False
        self._pid = os.getpid()

    def refuse(self) -> None:
        """Refuses a call, unless it was in another process that somebody was inside.

        Raises:
            ConcurrentCall: The lock was held.
        """
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self.lock = threading.Lock()
            return
        raise ConcurrentCall(
            "Another call of this environment is under way: it was called by two threads, or by the handler of a "
            "signal. An environment takes one call at a time; give each thread its own."
        )


class _Guarded(Protocol):
    _guard: Guard

    def _abandon_call(self) -> None:
        """Gives up all that a call may have touched; doing it again changes nothing."""


_G = TypeVar("_G", bound=_Guarded)


def one_at_a_time(method: Callable[Concatenate[_G, _P], _T]) -> Callable[Concatenate[_G, _P], _T]:
    """Lets a method of an environment in alone, and gives up what it leaves half done.

    Such methods do not call each other. Besides its own errors, one raises ConcurrentCall.
    """

    @wraps(method)
    def guarded(self: _G, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        guard = self._guard
        if guard.lock.locked():
            guard.refuse()
        # Entered and left within C, where no signal's handler runs. Who comes between the two lines waits a moment.
        with guard.lock:
            if guard.is_at_work:
                _abandon(self)
            try:
                result = method(self, *args, **kwargs)
            except OpenEnvGymError:
                guard.is_at_work = False  # a failure is an end too
                raise
            except BaseException:
                if guard.is_at_work:
                    _abandon(self)
                raise
            guard.is_at_work = False
            return result

    return guarded


def _abandon(env: _Guarded) -> None:
    env._abandon_call()
    env._guard.is_at_work = False
