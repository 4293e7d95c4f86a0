"""Codecs of numbers and pixels: arrays of a fixed shape."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from openenv_gym.bridge.codecs.base import Codec, Columns, Refusal, as_array, shown

_EXACT = 2**53
"""Up to here a float holds every integer, so that one array may hold numbers of both kinds."""


class ArrayCodec(Codec):
    """Numbers of a fixed shape.

    Args:
        space: The space, of fixed shape and numeric dtype.
        low: The lowest payload allowed, by element, in the schema's own precision.
        high: The highest.
        kind: What JSON numbers are allowed: ``"integer"``, ``"number"`` or ``"boolean"``.
        is_scalar: Whether the payload is one number rather than a list.
    """

    rank = 2

    def __init__(
        self, space: Space[Any], low: NDArray[Any], high: NDArray[Any], kind: str, *, is_scalar: bool = False
    ) -> None:
        assert space.shape is not None  # the caller's choice of space, not a user's input
        self.space = space
        self._shape = space.shape
        self._dtype = np.dtype(space.dtype)
        self._low, self._high = low, high
        self._kind = kind
        self._is_scalar = is_scalar
        # Casting may round a bound outward or a value past it; these hold what the space itself says.
        self._edges = (space.low, space.high) if isinstance(space, spaces.Box) else (low, high)
        self.rank = 1 if kind == "integer" else 2  # an integer is a number too
        self._items = int(np.prod(space.shape))
        may_overflow = self._dtype == np.float16
        self._many = None if kind == "boolean" or self._items == 0 or may_overflow else self._type_of_many()
        """The type of many payloads, as msgspec knows them; None where they are not read at once."""
        self._has_edges = self._dtype.kind == "f" and bool(np.isfinite(self._edges).any())
        # Within them many payloads may be read at once.
        self._plain = (low, high) if kind == "integer" else (_plain(low), _plain(high))

    def decode(self, payload: Any) -> Any:
        """Reads numbers into a new array of the space's shape and dtype."""
        plain = self.columns((payload,))
        if plain is not None:
            return plain[()].reshape(self._shape).copy()
        array = self._array(payload)
        if array.dtype.kind == "b" and self._kind != "boolean" and not isinstance(self.space, spaces.MultiBinary):
            raise Refusal(f"{shown(payload)} is a boolean where a number belongs")
        if self._kind == "integer" and array.dtype.kind == "f" and (self._is_scalar or not _is_whole(array)):
            raise Refusal(f"{shown(payload)} is no integer")
        # Written so that NaN is outside too.
        if not ((array >= self._low).all() and (array <= self._high).all()):
            raise Refusal(f"{shown(payload)} is outside {self._bounds()}")
        return self._cast(array)

    def columns(self, payloads: Sequence[Any]) -> Columns | None:
        """Reads numbers into one new array."""
        if self._many is None:
            return None
        try:
            # Told from each other here, in an array no more: booleans from numbers, floats from integers.
            array = np.array(msgspec.convert(payloads, self._many))
        except (msgspec.ValidationError, ValueError):
            return None
        if array.dtype.kind not in "if" or array.shape[1:] not in (self._shape, ()):
            return None
        if array.size != len(payloads) * self._items:
            return None
        array = array.reshape(len(payloads), *self._shape)
        # Written so that NaN is outside too.
        if not ((array >= self._plain[0]) & (array <= self._plain[1])).all():
            return None
        return {(): self._clipped(array.astype(self._dtype))}

    def encode(self, value: Any) -> Any:
        """Writes an array as nested lists, or as one number."""
        array = self._array(value)
        is_float_space = self._dtype.kind == "f"
        if self._kind != "number" and not is_float_space and array.dtype.kind == "f" and not _is_whole(array):
            raise Refusal(f"{shown(value)} is no {self._kind}")
        with np.errstate(over="ignore", invalid="ignore"):
            inside = (array >= self._low) & (array <= self._high)
            if not np.all(inside) and is_float_space:
                cast = array.astype(self._dtype)
                inside |= (cast >= self._edges[0]) & (cast <= self._edges[1])
        cast = self._cast(array)
        # A float at the edge of int64 is no more than its bound, and still does not fit.
        if not np.all(inside) or not (is_float_space or np.all(cast == array)):
            raise Refusal(f"{shown(value)} is outside {self._bounds()}")
        return self._written(cast)

    def _type_of_many(self) -> Any:
        kind: Any = int if self._kind == "integer" else float
        for _ in range(0 if self._is_scalar else len(self._shape)):
            kind = list[kind]
        return list[kind]

    def _written(self, array: NDArray[Any]) -> Any:
        if self._kind == "integer" and array.dtype.kind == "f":
            array = np.rint(array).astype(np.int64)
        elif self._kind == "boolean":
            array = array.astype(np.bool_)
        return array.reshape(()).item() if self._is_scalar else array.tolist()

    def _array(self, value: Any) -> NDArray[Any]:
        """Numbers in the space's shape; one number may come in any shape that holds one."""
        array = as_array(value)
        if array.size == 0 and self._items == 0:
            return np.zeros(self._shape, self._dtype)  # lists of no rows do not say how long a row is
        if array.dtype.kind not in "biuf":
            raise Refusal(f"{shown(value)} is no {'number' if self._items == 1 else 'array of numbers'}")
        if array.shape == self._shape:
            return array
        if array.size != 1 or self._items != 1:
            raise Refusal(f"its shape is {array.shape}, not {self._shape}")
        return array.reshape(self._shape)

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._clipped(array.astype(self._dtype))

    def _clipped(self, cast: NDArray[Any]) -> NDArray[Any]:
        if not self._has_edges:
            return cast
        low, high = self._edges
        return np.asarray(np.minimum(np.maximum(cast, low), high), self._dtype)

    def _bounds(self) -> str:
        if self._low.size and (self._low == self._low.flat[0]).all() and (self._high == self._high.flat[0]).all():
            return f"[{self._low.flat[0]}, {self._high.flat[0]}]"
        return f"[{shown(self._low.tolist())}, {shown(self._high.tolist())}]"


class PixelCodec(Codec):
    """Raw pixels in base64: a Box of uint8."""

    def __init__(self, space: spaces.Box) -> None:
        self.space = space
        self._shape = space.shape

    def decode(self, payload: Any) -> Any:
        """Reads the bytes into an array of the space's shape."""
        if not isinstance(payload, str):
            raise Refusal(f"{shown(payload)} is no base64 text")
        try:
            data = base64.b64decode(payload, validate=True)
        except (binascii.Error, ValueError):
            raise Refusal("it is no base64") from None
        expected = int(np.prod(self._shape))
        if len(data) != expected:
            raise Refusal(f"it holds {len(data)} bytes, not the {expected} of shape {self._shape}")
        return np.frombuffer(data, np.uint8).reshape(self._shape).copy()

    def encode(self, value: Any) -> Any:
        """Writes the array's bytes."""
        array = as_array(value)
        if array.shape != self._shape or not np.can_cast(array.dtype, np.uint8):
            raise Refusal(f"an array of {array.dtype} and shape {array.shape} is outside {self.space}")
        return base64.b64encode(array.astype(np.uint8).tobytes()).decode("ascii")


def _plain(bounds: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.clip(bounds.astype(np.float64), -_EXACT, _EXACT))


def _is_whole(array: NDArray[Any]) -> bool:
    return bool(np.all(array == np.rint(array)))
