"""The frames of a WebSocket (RFC 6455) for either end, without input or output and without extensions."""

from __future__ import annotations

import enum
import functools
import struct
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

NO_STATUS = 1005
"""The code of a close frame that has none; it never travels."""

_FINAL, _RESERVED, _OPCODE = 0x80, 0x70, 0x0F
_MASKED, _LENGTH = 0x80, 0x7F
_MAX_CONTROL_BYTES = 125
_PROTOCOL_ERROR, _INVALID_DATA, _TOO_LARGE = 1002, 1007, 1009


class Opcode(enum.IntEnum):
    """What a frame is."""

    CONTINUATION = 0x0
    TEXT = 0x1
    BINARY = 0x2
    CLOSE = 0x8
    PING = 0x9
    PONG = 0xA


_TEXT, _BINARY = Opcode.TEXT, Opcode.BINARY
_DATA = (Opcode.CONTINUATION, _TEXT, _BINARY)
_KNOWN = frozenset(Opcode)
_WHOLE_TEXT, _WHOLE_BINARY = _FINAL | _TEXT, _FINAL | _BINARY
_WHOLE = (_WHOLE_TEXT, _WHOLE_BINARY)

Mask: TypeAlias = Callable[[bytes, bytes], bytes]
"""Masks a payload by a key of four bytes, or takes the mask off: the same operation."""


class Close(NamedTuple):
    """Why a connection is closed, as a close frame says it.

    Attributes:
        code: A close code; NO_STATUS for none.
        reason: A text, at most 123 bytes.
    """

    code: int
    reason: str = ""

    @property
    def payload(self) -> bytes:
        """The payload of the close frame."""
        return b"" if self.code == NO_STATUS else struct.pack("!H", self.code) + self.reason.encode()


_NO_TEXT = Close(_INVALID_DATA, "text that is not UTF-8")

Event: TypeAlias = tuple[Opcode, str | bytes | Close]
"""A whole message, TEXT as str and BINARY as bytes; a CLOSE with what it says; a PING or PONG with its bytes."""


class FrameReader:
    """Reads what the other end sends, however the bytes are split.

    Args:
        max_bytes: The largest message.
        unmask: Takes the mask off a client's frames; None to read a server's, which must have none.

    Attributes:
        violation: With what the connection has to be closed because the other end broke the rules, after which
            nothing is read; None while all is well.
        missing: How many bytes the frame misses that has begun to come; 0 where none has.
    """

    def __init__(self, max_bytes: int, unmask: Mask | None = None) -> None:
        self.violation: Close | None = None
        self.missing = 0
        self._max_bytes = max_bytes
        self._unmask = unmask
        self._mask_bit = 0 if unmask is None else _MASKED
        self._mask_bytes = 0 if unmask is None else 4
        self._least_head = 2 + self._mask_bytes
        self._held: list[bytes] = []
        """Bytes of a frame that is not whole, as they came."""
        self._held_bytes = 0
        self._missing = 0
        """Bytes without which the held frame is not whole."""
        self._parts = bytearray()
        self._parts_opcode: Opcode | None = None
        self._ended = False

    def feed(self, data: bytes) -> list[Event]:
        """Takes bytes, and returns what they complete, in order.

        Nothing is read after a close frame or a violation.
        """
        if self._ended:
            return []
        if self._held:
            self._held.append(data)
            self._held_bytes += len(data)
            self.missing = self._missing - self._held_bytes
            if self.missing > 0:
                return []
            data = b"".join(self._held)
            self._held.clear()
            self.missing = 0
        events: list[Event] = []
        try:
            used = self._read(data, events)
        except (_Broken, UnicodeDecodeError) as fault:
            self.violation, self._ended = fault.close if isinstance(fault, _Broken) else _NO_TEXT, True
            return events
        if used < len(data):
            self._held.append(data[used:] if used else data)
            self._held_bytes = len(data) - used
            self.missing = self._missing - self._held_bytes
        return events

    def _read(self, data: bytes, events: list[Event]) -> int:
        start, size = 0, len(data)
        while size - start >= 2 and not self._ended:
            first, second = data[start], data[start + 1]
            is_whole = first in _WHOLE and self._parts_opcode is None
            if not is_whole or second & _MASKED != self._mask_bit:
                self._check(first, second)
            length, head = second & _LENGTH, self._least_head
            is_long = length >= 126
            if is_long:
                head += 2 if length == 126 else 8
            if size - start < head:
                self._missing = head
                return start
            if is_long:
                length = int.from_bytes(data[start + 2 : start + head - self._mask_bytes], "big")
            if len(self._parts) + length > self._max_bytes and first & _OPCODE in _DATA:
                raise _Broken(_TOO_LARGE, f"a message of more than {self._max_bytes} bytes")
            body = start + head
            if body + length > size:
                self._missing = head + length
                return start
            start = body + length
            carried = data[body:start]
            payload = carried if self._unmask is None else self._unmask(carried, data[body - 4 : body])
            if first == _WHOLE_TEXT:
                events.append((_TEXT, payload.decode()))
            elif first == _WHOLE_BINARY:
                events.append((_BINARY, payload))
            else:
                self._take(first, payload, events)
        self._missing = 2
        return start

    def _check(self, first: int, second: int) -> None:
        opcode = first & _OPCODE
        if first & _RESERVED or opcode not in _KNOWN:
            raise _Broken(_PROTOCOL_ERROR, "a reserved bit or opcode")
        if opcode not in _DATA:
            if second & _LENGTH > _MAX_CONTROL_BYTES or not first & _FINAL:
                raise _Broken(_PROTOCOL_ERROR, "a control frame that is long or in parts")
        elif (opcode == Opcode.CONTINUATION) != (self._parts_opcode is not None):
            raise _Broken(_PROTOCOL_ERROR, "a message within another, or the rest of none")
        if second & _MASKED != self._mask_bit:
            raise _Broken(_PROTOCOL_ERROR, "a client must mask its frames, and a server must not")

    def _take(self, first: int, payload: bytes, events: list[Event]) -> None:
        """Takes a frame that is no whole message of data."""
        opcode = Opcode(first & _OPCODE)
        if opcode not in _DATA:
            self._ended = opcode is Opcode.CLOSE
            events.append((opcode, _close(payload) if self._ended else payload))
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
        return (_TEXT, whole.decode()) if opcode is _TEXT else (_BINARY, whole)


class _Broken(Exception):
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.close = Close(code, reason)


def frame(opcode: int, payload: bytes) -> bytes:
    """A whole frame of a server: not masked."""
    return _head(opcode, len(payload), 0) + payload


def masked_frame(opcode: int, payload: bytes, key: bytes, mask: Mask) -> bytes:
    """A whole frame of a client.

    Args:
        opcode: What it is.
        payload: What it carries.
        key: Four bytes that nobody can foretell.
        mask: Masks the payload by them.
    """
    return _head(opcode, len(payload), _MASKED) + key + mask(payload, key)


def _close(payload: bytes) -> Close:
    if not payload:
        return Close(NO_STATUS)
    code = int.from_bytes(payload[:2], "big")
    if len(payload) == 1 or not may_travel(code):
        raise _Broken(_PROTOCOL_ERROR, "a close frame with a wrong code")
    try:
        return Close(code, payload[2:].decode())
    except UnicodeDecodeError as error:
        raise _Broken(_INVALID_DATA, "a close frame whose reason is not UTF-8") from error


@functools.lru_cache(maxsize=2048)  # most messages of a connection have few lengths
def _head(opcode: int, size: int, mask_bit: int) -> bytes:
    if size < 126:
        return bytes((_FINAL | opcode, mask_bit | size))
    if size < 1 << 16:
        return struct.pack("!BBH", _FINAL | opcode, mask_bit | 126, size)
    return struct.pack("!BBQ", _FINAL | opcode, mask_bit | 127, size)


def may_travel(code: int) -> bool:
    """Whether a close code may travel: those of the standard and its registry, and private ones."""
    return 1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999
