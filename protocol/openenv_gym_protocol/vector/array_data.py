"""Arrays inside values, as an extension type of msgpack; numpy's are known by their attributes, without its import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import msgspec

from openenv_gym_protocol.errors import ProtocolFailure
from openenv_gym_protocol.json_codec import array_fallback

ITEM_BYTES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "float32": 4,
    "float64": 8,
}
"""Bytes of one element of each dtype that arrays and columns may have, by numpy's names."""

DTYPES = tuple(ITEM_BYTES)
"""The dtypes that arrays and columns may have; they travel little-endian."""

ARRAY_CODE = 1
"""The msgpack extension type of an array inside a value: msgpack of ``[dtype, shape, data]``."""

MAX_DIMENSIONS = 32
"""Dimensions that an array may have: as many as every version of numpy can."""

MAX_EMPTY = 64
"""The lengths before the first 0 of an empty array's shape may have this product: as many lists it stands for."""

_MAX_ADDRESSED = 2**63 - 1

_FEW = 4096
"""So many bytes are looked through faster than numpy is called."""


class ArrayData:
    """An array as it travels inside a value.

    Attributes:
        dtype: One of ``DTYPES``.
        shape: Its shape.
        data: Its elements, little-endian, in C order.
    """

    # No dataclass and no Struct: msgspec would write those as maps and lists, without asking for the extension.
    __slots__ = ("data", "dtype", "shape")

    def __init__(self, dtype: str, shape: Sequence[int], data: bytes) -> None:
        self.dtype = dtype
        self.shape = tuple(shape)
        self.data = data

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayData):
            return NotImplemented
        return (self.dtype, self.shape, self.data) == (other.dtype, other.shape, other.data)

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape, self.data))

    def __repr__(self) -> str:
        return f"ArrayData({self.dtype!r}, {self.shape!r}, {self.data!r:.80})"

    def check(self) -> None:
        """Refuses an array whose parts do not fit together; nothing of its size is allocated for that.

        Raises:
            ProtocolFailure: An unknown dtype, too many dimensions, a negative length, another size than the
                shape's, or more than ``MAX_EMPTY`` empty parts.
        """
        size = ITEM_BYTES.get(self.dtype)
        if size is None:
            raise ProtocolFailure(f"An array of dtype {self.dtype[:40]!r}; allowed are {', '.join(DTYPES)}.")
        if len(self.shape) > MAX_DIMENSIONS:
            raise ProtocolFailure(f"An array of {len(self.shape)} dimensions; at most {MAX_DIMENSIONS} are allowed.")
        if any(length < 0 for length in self.shape):
            raise ProtocolFailure(f"An array of shape {self.shape}: a length is negative.")
        if _empty_lists(self.shape) > MAX_EMPTY:
            # As lists, a few bytes would become as many of them as they please.
            raise ProtocolFailure(f"An array of shape {self.shape}: of {MAX_EMPTY} empty parts at most.")
        # The lengths behind a 0 may be any, and numpy multiplies them all the same.
        too_large = prod(length or 1 for length in self.shape) * size > _MAX_ADDRESSED
        if too_large or prod(self.shape) * size != len(self.data):
            raise ProtocolFailure(
                f"An array of shape {self.shape} and dtype {self.dtype} cannot have {len(self.data)} bytes."
            )
        if self.dtype == "bool" and has_bad_booleans(self.data):
            raise ProtocolFailure("An array of booleans has bytes beyond 0 and 1.")


def are_all(true: Any) -> bool:
    """Whether all of a numpy array of truth values are true."""
    return 0 not in true.tobytes() if true.size < _FEW else bool(true.all())


def is_any(true: Any) -> bool:
    """Whether any of a numpy array of truth values is true."""
    return bool(true.tobytes().strip(b"\0")) if true.size < _FEW else bool(true.any())


def encode_special(value: Any) -> Any:
    """The form of what msgpack has no type for: arrays as the extension, numpy's scalars as numbers and text.

    An array of more than ``MAX_EMPTY`` empty parts is written as nested lists.

    Raises:
        TypeError: The value has no form.
    """
    if isinstance(value, ArrayData):
        value.check()
        return msgspec.msgpack.Ext(ARRAY_CODE, _encoder.encode((value.dtype, value.shape, value.data)))
    if is_array(value) and value.dtype.name in ITEM_BYTES and _empty_lists(value.shape) <= MAX_EMPTY:
        return encode_special(ArrayData(value.dtype.name, value.shape, little_endian(value)))
    return array_fallback(value)


def decode_special(code: int, data: memoryview) -> ArrayData:
    """Reads an extension.

    Raises:
        ProtocolFailure: It is none that this wire has, or its parts do not fit together.
    """
    if code != ARRAY_CODE:
        raise ProtocolFailure(f"A value of the unknown extension type {code}.")
    array = ArrayData(*_decoder.decode(data))
    array.check()
    return array


def arrays_replaced(value: Any, convert: Callable[[ArrayData], Any]) -> Any:
    """A copy of a value that was read, with something else in place of its arrays.

    The depth of the value was checked when it was read.

    Args:
        value: The value.
        convert: Gets each array.
    """
    if isinstance(value, dict):
        return {key: arrays_replaced(item, convert) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [arrays_replaced(item, convert) for item in value]
    return convert(value) if isinstance(value, ArrayData) else value


def is_array(value: Any) -> bool:
    """Whether a value is a numpy array, or what behaves as one, of one dimension or more."""
    return bool(getattr(value, "shape", ())) and hasattr(getattr(value, "dtype", None), "name")


def _empty_lists(shape: Sequence[int]) -> int:
    """How many empty lists an empty array comes to as nested lists; 0 where it is not empty."""
    return prod(shape[: shape.index(0)]) if 0 in shape else 0


def has_bad_booleans(data: bytes | bytearray | memoryview) -> bool:
    """Whether there are bytes beyond 0 and 1, which numpy would take for booleans that are neither."""
    return bool(bytes(data).translate(None, b"\0\1"))


def little_endian(array: Any) -> bytes:
    """The elements of a numpy array in C order, as they travel."""
    order = array.dtype.byteorder
    if order == ">" or (order == "=" and sys.byteorder == "big"):
        array = array.astype(array.dtype.newbyteorder("<"))
    data: bytes = array.tobytes()
    return data


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[str, list[int], bytes])
