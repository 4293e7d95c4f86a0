"""How one leaf of a space stands in a payload: as its numbers, or as an enumeration, a set, or pixels in base64."""

from __future__ import annotations

import base64
import binascii
import operator
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from openenv_gym_protocol.json_schema import Schema
from openenv_gym_protocol.vector.leaves import Misfit, flattened, is_numpy

_SCALARS = frozenset({"integer", "number", "boolean"})


class LeafPayload(Protocol):
    """How one leaf is written."""

    def value(self, payload: Any) -> Any:
        """What ``Leaf.pack`` takes, of a payload.

        Raises:
            Misfit: It is not what the space holds.
        """

    def payload(self, value: Any) -> Any:
        """The payload of what ``Leaf.unpack`` gave.

        Raises:
            Misfit: It is outside the space.
        """


class Numbers:
    """A number or nested lists of numbers, as the space has them.

    Args:
        is_scalar: Whether the payload is one number where the space has an array of one.
        is_boolean: Whether the payload has true and false where the space has 1 and 0.
    """

    def __init__(self, *, is_scalar: bool = False, is_boolean: bool = False) -> None:
        self._is_scalar = is_scalar
        self._is_boolean = is_boolean

    def value(self, payload: Any) -> Any:
        """The numbers as they are."""
        return payload

    def payload(self, value: Any) -> Any:
        """The numbers as they are."""
        while self._is_scalar and isinstance(value, list) and len(value) == 1:
            value = value[0]
        return _booleans(value) if self._is_boolean else value


class Range:
    """An integer of a Discrete."""

    def __init__(self, first: int, count: int) -> None:
        self._first = first
        self._count = count

    def value(self, payload: Any) -> Any:
        """The integer as it is."""
        try:
            whole = operator.index(payload)  # numpy's integers are integers too
        except TypeError:
            raise Misfit(f"{payload!r:.80} is no integer") from None
        if isinstance(payload, bool):
            raise Misfit(f"{payload} is a boolean where an integer belongs")
        return self.payload(whole)

    def payload(self, value: Any) -> Any:
        """The integer as it is."""
        if not self._first <= value < self._first + self._count:
            raise Misfit(f"{value} is outside [{self._first}, {self._first + self._count - 1}]")
        return value

    def holds_all(self, values: Sequence[int]) -> bool:
        """Whether none of some integers is outside."""
        return bool(values) and self._first <= min(values) and max(values) < self._first + self._count


class Choice:
    """One of some values: a Discrete of their positions."""

    def __init__(self, values: Sequence[Any], first: int) -> None:
        self._values = tuple(values)
        self._first = first

    def value(self, payload: Any) -> Any:
        """The position of a value."""
        if isinstance(payload, Enum):
            payload = payload.value
        for position, value in enumerate(self._values):
            if value == payload and type(value) is type(payload):
                return self._first + position
        raise Misfit(f"{payload!r:.80} is none of {list(self._values)!r:.200}")

    def payload(self, value: Any) -> Any:
        """The value at a position."""
        position = value - self._first
        if not 0 <= position < len(self._values):
            raise Misfit(f"{value} is no position of {list(self._values)!r:.200}, counted from {self._first}")
        return self._values[position]


class SmallSet:
    """A set of small integers, such as legal actions: a MultiBinary with a place for each."""

    def __init__(self, count: int) -> None:
        self._count = count

    def value(self, payload: Any) -> Any:
        """0 or 1 for each place."""
        if not isinstance(payload, list | tuple | set | frozenset):
            raise Misfit(f"{payload!r:.80} is no list")
        places = [0] * self._count
        for number in payload:
            if type(number) is not int or not 0 <= number < self._count:
                raise Misfit(f"{number!r:.80} is outside [0, {self._count - 1}]")
            places[number] = 1
        return places

    def payload(self, value: Any) -> Any:
        """The integers in order."""
        return [place for place, is_there in enumerate(value) if is_there]


class Pixels:
    """Raw pixels in base64, or as an array where JSON is not meant: a Box of uint8."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape

    def value(self, payload: Any) -> Any:
        """The pixels' bytes, or the array that has them."""
        if is_numpy(payload) and payload.dtype.name == "uint8":
            return payload
        if not isinstance(payload, str | bytes):
            raise Misfit(f"{payload!r:.80} is no base64 text")
        try:
            return base64.b64decode(payload, validate=True)
        except (binascii.Error, ValueError):
            raise Misfit("it is no base64") from None

    def payload(self, value: Any) -> Any:
        """The base64 text."""
        return base64.b64encode(bytes(flattened(value, self._shape))).decode("ascii")


def leaf_payload(space: Mapping[str, Any], shape: tuple[int, ...], schema: Schema) -> LeafPayload:
    """Finds how a leaf stands in a payload.

    Args:
        space: The leaf's space, as data.
        shape: The shape of one value.
        schema: The JSON Schema of the payload, its own reference followed; empty where it is not known.
    """
    kind = space["type"]
    if kind == "Discrete":
        return _discrete(space, schema)
    if kind == "MultiBinary":
        items = schema.get("items")
        if schema.get("uniqueItems") and len(shape) == 1:
            return SmallSet(shape[0])
        return Numbers(is_boolean=isinstance(items, Mapping) and items.get("type") == "boolean")
    if kind == "Box" and space.get("dtype") == "uint8" and schema.get("contentEncoding") == "base64":
        return Pixels(shape)
    return Numbers(is_scalar=kind == "Box" and schema.get("type") in _SCALARS)


def _discrete(space: Mapping[str, Any], schema: Schema) -> LeafPayload:
    first, count = int(space.get("start", 0)), int(space["n"])
    values = schema.get("enum")
    if values is not None and len(values) == count and not all(type(value) is int for value in values):
        return Choice(values, first)
    return Range(first, count)


def _booleans(value: Any) -> Any:
    return [_booleans(item) for item in value] if isinstance(value, list) else bool(value)
