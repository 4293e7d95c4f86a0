"""Codecs of lists: of fixed and of varying length, padded, and sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from openenv_gym.bridge.codecs.base import Codec, Refusal, as_array, blank, shown
from openenv_gym.bridge.codecs.objects import Field, ObjectCodec


class TupleCodec(Codec):
    """A list of a fixed length with a codec for each place: a Tuple."""

    def __init__(self, codecs: Sequence[Codec]) -> None:
        self._codecs = tuple(codecs)
        self.space = spaces.Tuple([codec.space for codec in codecs])

    def decode(self, payload: Any) -> Any:
        """Reads a list of as many elements."""
        return tuple(self._each(payload, "decode"))

    def encode(self, value: Any) -> Any:
        """Writes a list."""
        return self._each(value, "encode")

    def _each(self, values: Any, way: str) -> list[Any]:
        if not isinstance(values, list | tuple | np.ndarray) or len(values) != len(self._codecs):
            raise Refusal(f"{shown(values)} is no list of {len(self._codecs)} elements")
        return _mapped(values, [getattr(codec, way) for codec in self._codecs])


class FlatTupleCodec(Codec):
    """A list of a fixed length as a Dict with the places' numbers for keys."""

    def __init__(self, codecs: Sequence[Codec | None]) -> None:
        self._count = len(codecs)
        self._object = ObjectCodec([Field(str(i), codec) for i, codec in enumerate(codecs)], is_flat=True)
        self.space = self._object.space

    def decode(self, payload: Any) -> Any:
        """Reads a list of as many elements."""
        if not isinstance(payload, list | tuple) or len(payload) != self._count:
            raise Refusal(f"{shown(payload)} is no list of {self._count} elements")
        return self._object.decode({str(i): item for i, item in enumerate(payload)})

    def encode(self, value: Any) -> Any:
        """Writes a list."""
        return list(self._object.encode(value).values())


class SequenceCodec(Codec):
    """A list of varying length: a tuple of values. A ``BoundedSequence`` bounds it."""

    def __init__(self, codec: Codec, space: spaces.Sequence) -> None:
        self._codec = codec
        self._low: int = getattr(space, "min_length", 0)
        self._high: int | None = getattr(space, "max_length", None)
        self.space = space

    def decode(self, payload: Any) -> Any:
        """Reads a list."""
        return tuple(self._each(payload, self._codec.decode))

    def encode(self, value: Any) -> Any:
        """Writes a list."""
        return self._each(value, self._codec.encode)

    def _each(self, values: Any, convert: Any) -> list[Any]:
        if not isinstance(values, list | tuple | np.ndarray):
            raise Refusal(f"{shown(values)} is no list")
        if len(values) < self._low or (self._high is not None and len(values) > self._high):
            most = "any" if self._high is None else self._high
            raise Refusal(f"a list of {len(values)} elements is outside [{self._low}, {most}]")
        return _mapped(values, [convert] * len(values))


class StackedCodec(Codec):
    """A list of any length whose values are stacked into arrays."""

    def __init__(self, codec: SequenceCodec, space: spaces.Sequence) -> None:
        self._codec = codec
        self._feature = space.feature_space
        self._stacked = space.stacked_feature_space
        self.space = space

    def decode(self, payload: Any) -> Any:
        """Reads a list and stacks it."""
        values = self._codec.decode(payload)
        rows: Any = create_empty_array(self._feature, len(values))
        # Gymnasium's own concatenation refuses to join nothing.
        return concatenate(self._feature, values, rows) if values else rows

    def encode(self, value: Any) -> Any:
        """Writes each row."""
        try:
            rows = list(iterate(self._stacked, value))
        except (KeyError, TypeError, ValueError) as error:
            raise Refusal(f"{shown(value)} cannot be unstacked: {error}") from None
        return self._codec.encode(rows)


class PaddedCodec(Codec):
    """A list of at most ``high`` equal numeric elements: a Dict of ``data``, filled up with zeros, and ``mask``.

    What is written are the rows that the mask chooses, and the first ``low`` in any case.
    """

    def __init__(self, codec: Codec, low: int, high: int) -> None:
        self._codec = codec
        self._low, self._high = low, high
        box = codec.space
        assert isinstance(box, spaces.Box)
        shape = () if box.shape == (1,) else box.shape
        tiled = [np.broadcast_to(edge.reshape(shape), (high, *shape)) for edge in (box.low, box.high)]
        self._row_shape = box.shape
        # The padding is zero, or the nearest that the bounds allow.
        self._data = spaces.Box(tiled[0].copy(), tiled[1].copy(), dtype=box.dtype.type)
        self.space = spaces.Dict({"data": self._data, "mask": spaces.MultiBinary(high)})

    def decode(self, payload: Any) -> Any:
        """Reads a list into the front rows."""
        if not isinstance(payload, list) or not self._low <= len(payload) <= self._high:
            raise Refusal(f"{shown(payload)} is no list of {self._low} to {self._high} elements")
        data = blank(self._data)
        for i, row in enumerate(_mapped(payload, [self._codec.decode] * len(payload))):
            data[i] = row.reshape(data.shape[1:])
        mask = np.zeros(self._high, np.int8)
        mask[: len(payload)] = 1
        return {"data": data, "mask": mask}

    def encode(self, value: Any) -> Any:
        """Writes the chosen rows."""
        try:
            data, mask = np.asarray(value["data"]), np.asarray(value["mask"])
        except (KeyError, TypeError, ValueError):
            raise Refusal("it is no dict with data and mask") from None
        if len(value) != 2 or data.dtype.kind not in "biuf":
            raise Refusal("it is no dict of data, which are numbers, and mask")
        if data.shape != self._data.shape or mask.shape != (self._high,):
            raise Refusal(f"data and mask have the shapes {data.shape} and {mask.shape}, not those of {self.space}")
        if not np.isin(mask, (0, 1)).all():
            raise Refusal(f"its mask {shown(mask)} has other values than 0 and 1")
        mask = mask.astype(bool) | (np.arange(self._high) < self._low)
        rows = [row.reshape(self._row_shape) for row in data[mask]]
        return _mapped(rows, [self._codec.encode] * len(rows))


class SetCodec(Codec):
    """A set of small integers, such as legal actions: a MultiBinary with a place for each."""

    def __init__(self, low: int, count: int) -> None:
        self._low = low
        self.space = spaces.MultiBinary(count)
        self._count = count

    def decode(self, payload: Any) -> Any:
        """Reads a list of integers, in any order."""
        if not isinstance(payload, list):
            raise Refusal(f"{shown(payload)} is no list")
        value = np.zeros(self._count, np.int8)
        for number in payload:
            if type(number) is not int or not 0 <= number - self._low < self._count:
                raise Refusal(f"{shown(number)} is outside [{self._low}, {self._low + self._count - 1}]")
            value[number - self._low] = 1
        return value

    def encode(self, value: Any) -> Any:
        """Writes the integers in order."""
        array = as_array(value)
        if array.shape != (self._count,) or not np.isin(array, (0, 1)).all():
            raise Refusal(f"{shown(value)} is outside {self.space}")
        return [self._low + int(position) for position in np.flatnonzero(array)]


def _mapped(values: Any, converters: list[Any]) -> list[Any]:
    result = []
    for i, (value, convert) in enumerate(zip(values, converters, strict=True)):
        try:
            result.append(convert(value))
        except Refusal as refusal:
            raise refusal.within(i) from None
    return result
