"""One leaf of a fixed-shape space: its numbers as little-endian bytes, and back."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from math import prod
from typing import Any

from openenv_gym_protocol.errors import ProtocolFailure
from openenv_gym_protocol.vector.array_data import ITEM_BYTES, has_bad_booleans, little_endian
from openenv_gym_protocol.vector.frames import Column

_STRUCT_CODES = dict(zip(ITEM_BYTES, "?bhiqBHIQefd", strict=True))
_KINDS = {name: name[0] for name in ITEM_BYTES}
"""``b``, ``i``, ``u`` or ``f``, as numpy names the kinds of its dtypes."""


class Misfit(ValueError):
    """A value that does not fit a space; whoever knows what it was for makes a typed error of it."""

    def within(self, name: str | int) -> Misfit:
        """The same, one field further out."""
        return Misfit(f"{name}: {self}")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of a space.

    Attributes:
        path: The keys of the Dicts and the positions in the Tuples that lead to it.
        dtype: numpy's name of its dtype, such as ``float32``.
        shape: The shape of one value; ``()`` for a Discrete.
        is_number: Whether a value is a number, as a Discrete's, and no array of the shape ``()``, as a Box's.
        elements: How many numbers one value has.
        row_bytes: The bytes of one value.
        wire_dtype: The dtype as it travels, in the form that ``numpy.dtype`` takes, such as ``<f4``.
    """

    path: tuple[str | int, ...]
    dtype: str
    shape: tuple[int, ...]
    is_number: bool = False
    # Asked for with every column that comes or goes.
    elements: int = field(init=False, compare=False, repr=False)
    row_bytes: int = field(init=False, compare=False, repr=False)
    wire_dtype: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Works out what follows from the dtype and the shape."""
        size = ITEM_BYTES[self.dtype]
        object.__setattr__(self, "elements", prod(self.shape))
        object.__setattr__(self, "row_bytes", self.elements * size)
        object.__setattr__(self, "wire_dtype", f"{'|' if size == 1 else '<'}{_KINDS[self.dtype]}{size}")

    @property
    def name(self) -> str:
        """The path as text; empty where the leaf is the whole space."""
        return ".".join(map(str, self.path))

    def check(self, column: Column, rows: int) -> None:
        """Refuses a column that does not hold so many values; nothing of its size is allocated for that.

        Raises:
            ProtocolFailure: It has another size, or booleans that are neither 0 nor 1.
        """
        if len(column) != rows * self.row_bytes:
            raise ProtocolFailure(
                f"The column {self.name or '(the whole space)'} has {len(column)} bytes; {rows} rows of {self.dtype} "
                f"and shape {self.shape} have {rows * self.row_bytes}."
            )
        if self.dtype == "bool" and has_bad_booleans(column):
            raise ProtocolFailure(f"The column {self.name or '(the whole space)'} has booleans beyond 0 and 1.")

    def pack(self, value: Any) -> bytes:
        """The bytes of one value: a number, nested lists, a numpy array or scalar, or raw bytes for ``uint8``.

        Raises:
            Misfit: It has another shape, or numbers that the dtype cannot hold.
        """
        if type(value) is list and self.shape == (len(value),):
            return self._pack_numbers(value)
        if isinstance(value, bytes | bytearray) and self.dtype == "uint8":
            if len(value) != self.elements:
                raise Misfit(f"{len(value)} bytes where {self.elements} belong")
            return bytes(value)
        if is_numpy(value):
            if value.shape != self.shape and not value.size == self.elements == 1:
                raise Misfit(f"its shape is {tuple(value.shape)}, not {self.shape}")
            return self._pack_array(value)
        return self._pack_numbers(list(flattened(value, self.shape)))

    def pack_rows(self, value: Any, rows: int) -> bytes:
        """The bytes of a numpy array that holds a value in each row.

        Raises:
            Misfit: It is no such array.
        """
        if not is_numpy(value) or tuple(value.shape) != (rows, *self.shape):
            raise Misfit(f"it is no array of shape {(rows, *self.shape)}")
        return self._pack_array(value)

    def unpack(self, column: Column) -> list[Any]:
        """The values of a checked column in plain Python: numbers, or nested lists."""
        count = self.elements
        numbers = iter(struct.unpack(f"<{len(column) // ITEM_BYTES[self.dtype]}{_STRUCT_CODES[self.dtype]}", column))
        if not self.shape:
            return list(numbers)
        rows = len(column) // self.row_bytes if count else 0
        return [_nested(numbers, self.shape) for _ in range(rows)]

    def array(self, column: Column, rows: int, numpy: Any) -> Any:
        """The values of a checked column as an array of shape ``(rows, *shape)``: a read-only view of the frame."""
        frame = column if type(column) is bytes else memoryview(column).toreadonly()
        return numpy.ndarray((rows, *self.shape), self.wire_dtype, frame)

    def _pack_array(self, array: Any) -> bytes:
        if getattr(array.dtype, "str", None) == self.wire_dtype:
            data: bytes = array.tobytes()
            return data
        if array.dtype.name == self.dtype:
            return little_endian(array)
        kind, wanted = array.dtype.kind, _KINDS[self.dtype]
        if wanted == "f" and kind in "fiub":
            # Beyond the dtype's range is infinite, as in every cast of numpy's.
            with sys.modules["numpy"].errstate(over="ignore"):
                return little_endian(array.astype(self.dtype))
        if wanted in "iu" and kind in "iub":
            cast = array.astype(self.dtype)
            if not (cast == array).all():
                raise Misfit(f"it has numbers that {self.dtype} cannot hold")
            return little_endian(cast)
        # The rest is rare, and worth the look at each element: whole floats for integers, 0 and 1 for booleans.
        return self._pack_numbers(array.reshape(-1).tolist())

    def _pack_numbers(self, numbers: list[Any]) -> bytes:
        if self.dtype == "bool" and not all(number in (0, 1) for number in numbers):
            raise Misfit("it has values that are no booleans")
        form = f"<{len(numbers)}{_STRUCT_CODES[self.dtype]}"
        try:
            return struct.pack(form, *numbers)
        except (struct.error, OverflowError, TypeError) as error:
            return self._pack_again(form, numbers, error)

    def _pack_again(self, form: str, numbers: list[Any], error: Exception) -> bytes:
        """Packs what struct refuses and an array of the dtype takes: other kinds of numbers of the same value."""
        try:
            return struct.pack(form, *map(self._number, numbers))
        except (struct.error, OverflowError, TypeError, ValueError):
            raise Misfit(f"it has values that {self.dtype} cannot hold: {error}") from None

    def _number(self, value: Any) -> Any:
        if is_numpy(value):
            value = value.item()
        if _KINDS[self.dtype] == "f":
            if isinstance(value, float) and self.dtype != "float64":
                return _rounded(value, self.dtype)
        elif isinstance(value, float) and value.is_integer() and self.shape:
            return int(value)
        return value


class ShortWay:
    """The short way for most values of a leaf: an array of its dtype, or a list of numbers that this has as they are.

    Args:
        leaf: The leaf.
    """

    def __init__(self, leaf: Leaf) -> None:
        self._shape = leaf.shape
        self._wire_dtype = leaf.wire_dtype
        self._dtype: Any = None
        """The array dtype that was found last to be the leaf's: numpy has one object for each."""
        takes_lists = len(leaf.shape) == 1 and leaf.dtype != "bool"
        self._length = leaf.shape[0] if takes_lists else -1
        self._pack = struct.Struct(f"<{max(self._length, 0)}{_STRUCT_CODES[leaf.dtype]}").pack

    def packed(self, value: Any) -> bytes | None:
        """The bytes that ``Leaf.pack`` gives; None where that has to have a closer look."""
        if type(value) is list:
            if len(value) != self._length:
                return None
            try:
                return self._pack(*value)
            except (struct.error, OverflowError, TypeError):
                return None
        # An array; in one function, as every step of every lane calls it.
        dtype = getattr(value, "dtype", None)
        if dtype is None or value.shape != self._shape:
            return None
        if dtype is not self._dtype:
            if getattr(dtype, "str", None) != self._wire_dtype:
                return None
            self._dtype = dtype
        data: bytes = value.tobytes()
        return data


def is_numpy(value: Any) -> bool:
    """Whether a value is an array or a scalar of numpy's, or what behaves as one."""
    return hasattr(value, "tobytes") and hasattr(getattr(value, "dtype", None), "kind")


def _rounded(value: float, dtype: str) -> float:
    """A float that the dtype has a form for: one beyond its range is infinite, as numpy casts it."""
    try:
        struct.pack(f"<{_STRUCT_CODES[dtype]}", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


def flattened(value: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    """The numbers of nested lists in C order; one number may come in any shape that holds one."""
    if not shape:
        while isinstance(value, list | tuple) and len(value) == 1:
            value = value[0]
        return iter((value,))
    if not isinstance(value, list | tuple):
        if is_numpy(value):
            value = value.tolist()
        if not isinstance(value, list | tuple):
            if prod(shape) == 1:
                return iter((value,))
            raise Misfit(f"it is no list of {shape[0]}")
    if len(value) != shape[0]:
        raise Misfit(f"it has {len(value)} elements where {shape[0]} belong")
    if len(shape) == 1:
        return iter(value)
    return chain.from_iterable(flattened(item, shape[1:]) for item in value)


def _nested(numbers: Iterator[Any], shape: tuple[int, ...]) -> list[Any]:
    if len(shape) == 1:
        return list(islice(numbers, shape[0]))
    return [_nested(numbers, shape[1:]) for _ in range(shape[0])]
