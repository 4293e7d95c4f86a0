"""How a link of the vector wire outlives its connection: the rules of both ends, without input or output.

Each end counts the frames of a link that it receives, and keeps those that it sends until the other end has them. On
a new connection each says how many it has, and the other sends the rest again, in their order. A frame counts once it
came whole, so that no request is carried out twice, none is left out, and no reply is lost.
"""

from __future__ import annotations

from collections import deque

from openenv_gym_protocol.errors import ProtocolFailure, UnexpectedReply
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.failures import error_of
from openenv_gym_protocol.vector.frames import Refused, Resume, Resumed, Welcome

_OVERHEAD = 64
"""Bytes that a kept frame costs besides its own, about."""

LINK_HEADER = "X-OpenEnv-Link"
"""Names the link that is to be resumed, without its secret, to what stands before several processes of a server."""


class KeptFrames:
    """Frames that one end sent and the other may not have, in their order.

    Attributes:
        sent: How many were sent since the link began.
        size: Bytes that are kept.
    """

    def __init__(self) -> None:
        self.sent = 0
        self.size = 0
        self._frames: deque[bytes] = deque()

    def add(self, frame: bytes) -> int:
        """Keeps a frame that is sent.

        Returns:
            Its number; the first is 1.
        """
        self.sent += 1
        self.size += len(frame) + _OVERHEAD
        self._frames.append(frame)
        return self.sent

    def confirm(self, received: int) -> None:
        """Drops what the other end has received.

        Args:
            received: How many frames; what it said later than this may say less.

        Raises:
            ProtocolFailure: More than were sent.
        """
        if received > self.sent:
            raise ProtocolFailure(f"{received} frames of the link are said to be received; {self.sent} were sent.")
        for _ in range(received - self.sent + len(self._frames)):
            self.size -= len(self._frames.popleft()) + _OVERHEAD

    def after(self, received: int) -> list[bytes]:
        """The frames to send again to an end that has received so many; they are kept still.

        Raises:
            ProtocolFailure: More than were sent, or one that it has not is kept no longer: it had said that it has.
        """
        if received < self.sent - len(self._frames):
            raise ProtocolFailure(f"The frames of the link after {received} are kept no longer: they were received.")
        self.confirm(received)
        return list(self._frames)


class Resumption:
    """What a client needs to resume its link.

    Attributes:
        linger: How long the server keeps the link after its connection broke, in seconds; 0 where it cannot resume.
        received: How many frames of the link came.
    """

    def __init__(self) -> None:
        self.linger = 0.0
        self.received = 0
        self._link = ""
        self._epoch = 0
        self._kept = KeptFrames()
        self._request_id = -1

    def welcomed(self, welcome: Welcome) -> None:
        """Notes what the server said, before any frame of the link."""
        self._link = welcome.link
        self.linger = welcome.linger if welcome.link else 0.0
        self.received = 0

    def sent(self, frame: bytes) -> int:
        """Notes a frame that is sent, or will be when the link has a connection.

        Returns:
            Its number, for ``answered``.
        """
        return self._kept.add(frame)

    def answered(self, number: int) -> None:
        """Notes that the server has a frame, and so all before it."""
        self._kept.confirm(number)

    def headers(self) -> dict[str, str]:
        """What to send with the handshake of a new connection, so that it finds its way to the link."""
        name, dot, _ = self._link.partition(".")
        return {LINK_HEADER: name} if dot else {}

    def request(self, request_id: int) -> bytes:
        """The first frame of a new connection.

        Args:
            request_id: An id that was not used yet.
        """
        self._epoch += 1
        self._request_id = request_id
        return codec.encode(Resume(id=request_id, ack=self.received, link=self._link, epoch=self._epoch))

    def accepted(self, frame: str | bytes) -> list[bytes]:
        """Reads what the server answers to ``request``.

        Returns:
            The frames to send again, before any other.

        Raises:
            SessionLost: The link is gone.
            OpenEnvGymError: The server refused for another reason, or broke the wire's rules.
        """
        reply = codec.decode_reply(frame)
        if reply.id == self._request_id and isinstance(reply, Refused):
            raise error_of(reply.failure)
        if reply.id != self._request_id or not isinstance(reply, Resumed):
            raise UnexpectedReply("The server did not answer the request to resume.")
        return self._kept.after(reply.received)
