"""A request and its reply without a coroutine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from openenv_gym_protocol.messages import Reply, Request

from openenv_gym.client.channel import Channel

_T = TypeVar("_T")


class Exchange(Generic[_T]):
    """The shortcut (see ``transports.io_thread``) of a call that has nothing to wait for but its reply.

    Args:
        channel: Where it is sent.
        make: Makes the request, and the seconds that its reply may take.
        read: Makes of the reply what the caller gets.
    """

    def __init__(
        self, channel: Channel, make: Callable[[], tuple[Request, float | None]], read: Callable[[Reply], _T]
    ) -> None:
        self._channel = channel
        self._make = make
        self._read = read
        self._call = ""

    def begin(self, settle: Callable[[_T | Exception], object]) -> bool:
        """Sends the request; False where the call has to wait before it can."""
        if not self._channel.is_quiet:
            return False
        try:
            request, timeout = self._make()
        except Exception as error:
            settle(error)
            return True
        self._call = request.type
        return self._channel.begin(request, timeout, lambda outcome: settle(self._outcome(outcome)))

    def interrupt(self) -> None:
        """Gives the session up, as a late reply must reach no other call."""
        self._channel.interrupt(self._call)

    def _outcome(self, outcome: Reply | Exception) -> _T | Exception:
        if isinstance(outcome, Exception):
            return outcome
        try:
            return self._read(outcome)
        except Exception as error:
            return error
