"""The server's side of WebSocket frames (RFC 6455), without input or output and without extensions."""

from __future__ import annotations

import struct
from typing import NamedTuple, TypeAlias

from openenv_gym_protocol.websocket_frames import Mask, Opcode, may_travel

from openenv_gym_server.asgi import INVALID_DATA, PROTOCOL_ERROR, TOO_LARGE

_FINAL, _RESERVED, _OPCODE = 0x80, 0x70, 0x0F
_MASKED, _LENGTH = 0x80, 0x7F
_MAX_CONTROL_BYTES = _MAX_SHORT = 125
_UNMASK_BYTES = 1 << 20
"""A large payload is unmasked in pieces of so many bytes, a multiple of the mask's four."""


_TEXT = Opcode.TEXT
_DATA = (Opcode.CONTINUATION, Opcode.TEXT, Opcode.BINARY)
_KNOWN = frozenset(Opcode)
_WHOLE_TEXT = _FINAL | Opcode.TEXT
_WHOLE_BINARY = _FINAL | Opcode.BINARY


Event: TypeAlias = tuple[Opcode, str | bytes]
"""A whole message, TEXT as str and BINARY as bytes, or the payload of a CLOSE, PING or PONG."""


class Violation(NamedTuple):
    """Why the connection has to be closed."""

    code: int
    reason: str


class FrameReader:
    """Reads what a client sends, however the bytes are split.

    Args:
        max_bytes: The largest message.
        unmask: Takes a mask off a payload.

    Attributes:
        violation: What the client did wrong, after which nothing is read; None while all is well.
    """

    def __init__(self, max_bytes: int, unmask: Mask | None = None) -> None:
        self.violation: Violation | None = None
        self._unmask = unmask or unmasked
        self._is_over = False
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._missing = 0
        """Bytes without which the buffered frame is not whole."""
        self._parts = bytearray()
        self._parts_opcode: Opcode | None = None

    @property
    def is_between_messages(self) -> bool:
        """Whether all that came is whole messages."""
        return not self._buffer and self._parts_opcode is None

    def feed(self, data: bytes) -> list[Event]:
        """Takes bytes, and returns what they complete, in order.

        After a violation the events before it are returned, and then none; after a CLOSE there are none either.
        """
        if self._is_over:
            return []
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < self._missing:
                return []
            data = bytes(self._buffer)
            self._buffer.clear()
        events: list[Event] = []
        used = 0
        try:
            used = self._read(data, events)
        except _Broken as broken:
            self.violation, self._is_over = broken.violation, True
        except UnicodeDecodeError:
            self.violation, self._is_over = Violation(INVALID_DATA, "text that is not UTF-8"), True
        if used < len(data) and not self._is_over:
            self._buffer += data[used:] if used else data
        return events

    def _read(self, data: bytes, events: list[Event]) -> int:
        start, size = 0, len(data)
        while size - start >= 2 and not self._is_over:
            first, second = data[start], data[start + 1]
            if first != _WHOLE_TEXT or second < _MASKED or self._parts_opcode is not None:
                self._check(first, second)
            length, body = second & _LENGTH, start + 6
            if length > _MAX_SHORT:
                length, body = _measured(data, start)
            if len(self._parts) + length > self._max_bytes and first & _OPCODE in _DATA:
                raise _Broken(TOO_LARGE, f"more than {self._max_bytes} bytes")
            end = body + length
            if end > size:
                self._missing = end - start
                break
            payload = self._unmask(data[body:end], data[body - 4 : body])
            if first == _WHOLE_TEXT:
                events.append((_TEXT, payload.decode()))
            else:
                self._take(first, payload, events)
            start = end
        else:
            self._missing = 2
        return start

    def _check(self, first: int, second: int) -> None:
        opcode = first & _OPCODE
        if first & _RESERVED or opcode not in _KNOWN:
            raise _Broken(PROTOCOL_ERROR, "a reserved bit or opcode")
        if not second & _MASKED:
            raise _Broken(PROTOCOL_ERROR, "a client's frame must be masked")
        if opcode not in _DATA:
            if second & _LENGTH > _MAX_CONTROL_BYTES or not first & _FINAL:
                raise _Broken(PROTOCOL_ERROR, "a control frame that is long or in parts")
        elif (opcode == Opcode.CONTINUATION) != (self._parts_opcode is not None):
            raise _Broken(PROTOCOL_ERROR, "a message within another, or the rest of none")

    def _take(self, first: int, payload: bytes, events: list[Event]) -> None:
        opcode = Opcode(first & _OPCODE)
        if first == _WHOLE_BINARY or opcode not in _DATA:
            events.append((opcode, payload))
            self._is_over = opcode is Opcode.CLOSE
            return
        if opcode is not Opcode.CONTINUATION:
            self._parts_opcode = opcode
        self._parts += payload  # at once: however small the parts are, and many, they take the memory of their bytes
        if first & _FINAL:
            events.append(self._joined())

    def _joined(self) -> Event:
        whole = bytes(self._parts)
        opcode, self._parts_opcode = self._parts_opcode, None
        self._parts = bytearray()
        if opcode is Opcode.TEXT:
            return _TEXT, whole.decode()
        return Opcode.BINARY, whole


class _Broken(Exception):
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.violation = Violation(code, reason)


def close_payload(code: int, reason: str = "") -> bytes:
    """The payload of a close frame; the reason must be short."""
    return struct.pack("!H", code) + reason.encode()


def close_answer(payload: bytes) -> bytes:
    """The payload of the frame that answers a client's close frame: its own code, or what was wrong with it."""
    if not payload:
        return b""
    code = int.from_bytes(payload[:2], "big")
    if len(payload) == 1 or not may_travel(code):
        return close_payload(PROTOCOL_ERROR)
    try:
        payload[2:].decode()
    except UnicodeDecodeError:
        return close_payload(INVALID_DATA)
    return payload[:2]


def _measured(data: bytes, start: int) -> tuple[int, int]:
    """The length of a long payload and where it begins; of a length that is not all there, 0: its end is not either."""
    body = start + (8 if data[start + 1] & _LENGTH == _MAX_SHORT + 1 else 14)
    return (int.from_bytes(data[start + 2 : body - 4], "big") if len(data) >= body else 0), body


def unmasked(payload: bytes, mask: bytes) -> bytes:
    """Takes a mask off a payload."""
    size = len(payload)
    if size > _UNMASK_BYTES:
        pieces = (payload[at : at + _UNMASK_BYTES] for at in range(0, size, _UNMASK_BYTES))
        return b"".join(unmasked(piece, mask) for piece in pieces)
    pad = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "little") ^ int.from_bytes(pad, "little")).to_bytes(size, "little")
