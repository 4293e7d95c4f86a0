"""The watchdog's end of a socket to a user or a keeper: whole messages in, messages out, without waiting."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

_CHUNK = 65536
_LONGEST_MESSAGE = 8 * 1024 * 1024


class Connection:
    """A user's or a keeper's connection; it is open as long as the other end lives and wants it."""

    def __init__(self, connected: socket.socket) -> None:
        connected.settimeout(0.0)
        self.socket = connected
        self.is_open = True
        self._received = b""

    def messages(self) -> Iterator[dict[str, Any]]:
        """Reads what has come; sets ``is_open`` to false at the end of file.

        Raises:
            ValueError: A message is not a JSON object, or too long.
        """
        self._read()
        *lines, self._received = self._received.split(b"\n")
        if len(self._received) > _LONGEST_MESSAGE:
            raise ValueError("message too long")
        for line in lines:
            message = json.loads(line)
            if not isinstance(message, dict):
                raise ValueError("not an object")
            yield message

    def tell(self, event: str, **data: Any) -> None:
        """Sends a message. An other end that has gone, or reads nothing, is given up."""
        if not self.is_open:
            return
        line = json.dumps({"event": event, **data}).encode() + b"\n"
        try:
            complete = self.socket.send(line) == len(line)
        except OSError:
            complete = False
        if not complete:
            # The end of file follows in `messages`, where users leave and keepers are replaced.
            self.is_open = False
            self._shut_down()

    def close(self) -> None:
        """Closes the socket, by which the other end is told that nothing follows."""
        self.is_open = False
        self.socket.close()

    def _read(self) -> None:
        try:
            while data := self.socket.recv(_CHUNK):
                self._received += data
        except BlockingIOError:
            return
        except OSError:
            # Reset by one that was killed with messages unread: an end of file like any other.
            pass
        self.is_open = False

    def _shut_down(self) -> None:
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            # The other end has gone already.
            return
