"""Frames of the vector wire to messages and back: msgpack, bounded, and never pickle."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import msgspec

from openenv_gym_protocol import errors
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.array_data import (
    ARRAY_CODE,
    DTYPES,
    ITEM_BYTES,
    ArrayData,
    decode_special,
    encode_special,
)
from openenv_gym_protocol.vector.frames import Reply, Request
from openenv_gym_protocol.vector.structures import Id

__all__ = [
    "ARRAY_CODE",
    "DTYPES",
    "ITEM_BYTES",
    "MAX_DEPTH",
    "ArrayData",
    "decode_reply",
    "decode_request",
    "encode",
    "encode_value",
    "request_id",
]

MAX_DEPTH = 64
"""How many arrays and maps a value may have inside each other; a message's own are not counted."""

FREE_KEYS: dict[type, tuple[str, ...]] = {
    frames.Open: ("options",),
    frames.Reset: ("options",),
    frames.Step: ("actions",),
    frames.Call: ("args", "kwargs"),
    frames.Set: ("values",),
    frames.Welcome: ("schemas",),
    frames.Opened: ("action_space", "observation_space"),
    frames.Rows: ("observations", "infos", "final", "failures"),
    frames.Values: ("values", "failures"),
    frames.Refused: ("failure",),
    frames.Batch: ("values",),
    frames.Final: ("observations", "infos"),
    frames.Failure: ("details",),
}
"""The keys of messages, and of the structures in them, that hold free values or such structures."""

_LISTS_OF_VALUES = frozenset({"values", "infos", "args"})
_CONTAINERS = frozenset({list, dict, tuple})
_KEYS = frozenset({str, int})


def encode(message: Request | Reply, max_bytes: int | None = None) -> bytes:
    """Writes a message.

    Args:
        message: What to write. A value in it may be one that ``encode_value`` returned.
        max_bytes: The largest frame that the other end accepts.

    Raises:
        FrameTooLarge: The frame would be larger.
        InvalidAction: A step holds something that msgpack cannot carry: an integer beyond 64 bits, text that is no
            UTF-8, an object.
        InvalidMessage: Another request does.
        ExecutionError: A reply does.
    """
    try:
        frame = _encoder.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError, errors.ProtocolFailure) as error:
        raise _refusal(message)(f"The value cannot be sent: {error}") from error
    if max_bytes is not None and len(frame) > max_bytes:
        raise errors.FrameTooLarge(
            f"A frame of {len(frame)} bytes is larger than the {max_bytes} that the other end accepts."
        )
    return frame


def encode_value(value: Any) -> msgspec.Raw:
    """Writes one value ahead of the message that it goes into.

    So one lane's value that cannot be sent costs no other lane its frame, and is written in the lane's own thread.

    Raises:
        ExecutionError: It is nested more deeply than ``MAX_DEPTH``, has a key that is neither text nor an integer, or
            holds what msgpack cannot carry.
    """
    try:
        written = msgspec.Raw(_encoder.encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError, errors.ProtocolFailure) as error:
        raise errors.ExecutionError(f"The value cannot be sent: {error}") from error
    # Afterwards: a value that holds itself has no end to look for, and was refused above.
    fault = _fault([[value]])
    if fault is not None:
        raise errors.ExecutionError(f"The value cannot be sent: {fault}.")
    return written


def decode_request(frame: str | bytes | bytearray | memoryview) -> Request:
    """Reads a client's frame.

    Raises:
        ProtocolFailure: It is text, not msgpack, too deeply nested, or no request of this wire; or a value in it has
            a key that is neither text nor an integer.
    """
    message: Request = _decoded(_requests, frame)
    return message


def decode_reply(frame: str | bytes | bytearray | memoryview) -> Reply:
    """Reads a server's frame; same errors as ``decode_request``."""
    message: Reply = _decoded(_replies, frame)
    return message


def request_id(frame: str | bytes | bytearray | memoryview) -> int:
    """The id of a frame that ``decode_request`` refused, for the reply to it.

    Returns:
        The id, or ``UNREADABLE`` where there is none.
    """
    try:
        return frames.UNREADABLE if isinstance(frame, str) else _heads.decode(frame).id
    except (msgspec.MsgspecError, RecursionError):
        return frames.UNREADABLE


class _Head(msgspec.Struct):
    id: Id


_encoder = msgspec.msgpack.Encoder(enc_hook=encode_special)
_requests = msgspec.msgpack.Decoder(Request, ext_hook=decode_special)
_replies = msgspec.msgpack.Decoder(Reply, ext_hook=decode_special)
_heads = msgspec.msgpack.Decoder(_Head)


def _refusal(message: Request | Reply) -> type[errors.OpenEnvGymError]:
    if isinstance(message, frames.Step):
        return errors.InvalidAction
    return errors.InvalidMessage if isinstance(message, Request) else errors.ExecutionError


def _decoded(decoder: msgspec.msgpack.Decoder[Any], frame: str | bytes | bytearray | memoryview) -> Any:
    if isinstance(frame, str):
        raise errors.ProtocolFailure("A text frame; the vector wire has binary frames only.")
    try:
        message = decoder.decode(frame)
    except msgspec.ValidationError as error:
        raise errors.ProtocolFailure(f"A frame that is no message of the vector wire: {error}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise errors.ProtocolFailure(f"A frame that is not msgpack: {error}") from error
    fault = _fault(_free_values(message))
    if fault is not None:
        raise errors.ProtocolFailure(f"A value that the wire does not have: {fault}.")
    return message


def _free_values(part: Any) -> list[Iterable[Any]]:
    """The values of a message whose form the wire does not say, in batches."""
    found: list[Iterable[Any]] = []
    for key in FREE_KEYS.get(type(part), ()):
        held = getattr(part, key)
        if held is None:
            continue
        if isinstance(held, msgspec.Struct):
            found += _free_values(held)
        elif key == "failures":
            for failure in held:
                found += _free_values(failure)
        else:
            found.append(held if key in _LISTS_OF_VALUES else (held,))
    return found


def _fault(batches: Iterable[Iterable[Any]]) -> str | None:
    """What is wrong with values, or None."""
    # Level by level, so that each comprehension runs over many elements and nothing recurses.
    level = [value for batch in batches for value in batch if type(value) in _CONTAINERS]
    for _ in range(MAX_DEPTH):
        if not level:
            return None
        kinds = {kind for container in level if type(container) is dict for kind in map(type, container)}
        if not all(map(_is_key, kinds - _KEYS)):
            return "a key of a map is neither text nor an integer"
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) in _CONTAINERS
        ]
    return f"it is nested more than {MAX_DEPTH} deep" if level else None


def _is_key(kind: type) -> bool:
    # What an environment returns may have keys of other classes that are written so: an enumeration's, numpy's.
    return issubclass(kind, str | Integral) and not issubclass(kind, bool)
