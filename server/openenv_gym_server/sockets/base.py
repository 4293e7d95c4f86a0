"""What a socket and the conversation that is held over it know of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from openenv_gym_server.sockets.line import Line


class Socket(Protocol):
    """An accepted WebSocket. Used on the server's event loop only.

    Attributes:
        close_code: With which the connection ended, whoever closed it; None while it is open.
    """

    close_code: int | None

    def send(self, frame: str | bytes) -> None:
        """Sends a frame, after those before it; the conversation's ``sent`` tells when it has left."""

    def close(self, code: int) -> None:
        """Closes the socket after the frames before it, and ends the conversation; further calls change nothing."""

    def settle(self) -> None:
        """Learns that the conversation has nothing to send for now, for which the end of the server may wait."""

    def pause_reading(self) -> None:
        """Reads no further until ``resume_reading``."""

    def resume_reading(self) -> None:
        """Reads on."""

    def lend(self, when_ended: Callable[[], None]) -> Line | None:
        """Lends the connection to a thread, which reads and answers what comes after the message received just now.

        Args:
            when_ended: Called on the event loop, under the line's lock, when the thread has it no more.

        Returns:
            The line; None where it cannot be lent now.
        """

    def take_back(self) -> None:
        """Takes the connection back, if it is lent. Whatever else is asked of a socket does so first."""


class Conversation(Protocol):
    """What is said over a socket."""

    def receive(self, frame: str | bytes) -> None:
        """Takes a frame: text as str, binary as bytes."""

    def sent(self, frame: str | bytes) -> None:
        """Learns that a frame has left, so that the next may follow."""

    @property
    def is_busy(self) -> bool:
        """Answers are still to come."""

    def end(self) -> None:
        """Ends: nothing is read or sent any more. Called once, whoever closed."""

    async def finish(self) -> None:
        """Waits, after the end, for what was under way."""
