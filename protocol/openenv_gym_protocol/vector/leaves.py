"""One leaf of a fixed-shape space: its numbers as little-endian bytes, and back."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
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
    """

    path: tuple[str | int, ...]
    dtype: str
    shape: tuple[int, ...]
    is_number: bool = False

    @property
    def name(self) -> str:
        """The path as text; empty where the leaf is the whole space."""
        return ".".join(map(str, self.path))

    @property
    def wire_dtype(self) -> str:
        """The dtype as it travels, in the form that ``numpy.dtype`` takes, such as ``<f4``."""
        size = ITEM_BYTES[self.dtype]
        return f"{'|' if size == 1 else '<'}{_KINDS[self.dtype]}{size}"

    @property
    def elements(self) -> int:
        """How many numbers one value has."""
        return prod(self.shape)

    @property
    def row_bytes(self) -> int:
        """The bytes of one value."""
        return self.elements * ITEM_BYTES[self.dtype]

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
        return numpy.frombuffer(memoryview(column).toreadonly(), self.wire_dtype).reshape(rows, *self.shape)

    def _pack_array(self, array: Any) -> bytes:
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


class PlainList:
    """The short way for a list of numbers that the dtype has as they are; made by ``plain_list``.

    Args:
        length: How many numbers there are.
        form: Their form for ``struct``.
    """

    def __init__(self, length: int, form: str) -> None:
        self._length = length
        self._pack = struct.Struct(form).pack

    def packed(self, value: Any) -> bytes | None:
        """The bytes that ``Leaf.pack`` gives; None where that has to have a closer look."""
        if type(value) is not list or len(value) != self._length:
            return None
        try:
            return self._pack(*value)
        except (struct.error, OverflowError, TypeError):
            return None


def plain_list(leaf: Leaf) -> PlainList | None:
    """The short way of a leaf, if it is a list of numbers that are no booleans."""
    if len(leaf.shape) != 1 or leaf.dtype == "bool":
        return None
    return PlainList(leaf.shape[0], f"<{leaf.shape[0]}{_STRUCT_CODES[leaf.dtype]}")


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
