"""Payloads to values of a space, and back.

A payload is a plain JSON value; a value is what Gymnasium's spaces hold. Codecs form a tree as their spaces do.
``decode`` reads what a server sent, ``encode`` writes what it is to be sent; both check, and refuse with the name
of the field. Every value is a new object.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from openenv_gym.bridge.text_spaces import JsonText, UnicodeText, write_json

MISSING: Any = object()
"""What stands for a key that is not there."""


class Refusal(Exception):
    """A value that does not fit; codecs on the way up put the names of the fields in front."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []

    def within(self, name: str | int) -> Refusal:
        """Notes the field that the value stands in."""
        self.path.insert(0, str(name))
        return self

    def where(self, root: str) -> str:
        """The field's name, from the root on."""
        return ".".join([root, *self.path])


class Codec(ABC):
    """How one part of a payload and one space belong together.

    Attributes:
        space: What ``decode`` returns values of.
    """

    space: Space[Any]
    rank: int = 1
    """The order in which a union's branches are tried: narrow types come first."""
    may_be_missing: ClassVar[bool] = False
    """Whether the key of the payload may not be there."""

    @abstractmethod
    def decode(self, payload: Any) -> Any:
        """Reads a payload.

        Raises:
            Refusal: It is not what the space holds.
        """

    @abstractmethod
    def encode(self, value: Any) -> Any:
        """Writes a value, which may be any reasonable form of one: a Python or numpy number, a 0-d array.

        Raises:
            Refusal: It is outside the space.
        """

    def draw(self, rng: np.random.Generator) -> Any:
        """Draws a payload."""
        self.space.seed(int(rng.integers(2**31)))
        return self.encode(self.space.sample())


class RangeCodec(Codec):
    """An integer of a small range: a Discrete whose values count from the lowest."""

    rank = 0

    def __init__(self, space: spaces.Discrete, low: int, step: int = 1) -> None:
        self.space = space
        self._first = int(space.start)
        self._count = int(space.n)
        self._low = low
        self._step = step

    def decode(self, payload: Any) -> Any:
        """Reads an integer as its distance from the lowest."""
        if type(payload) is not int:
            raise Refusal(f"{shown(payload)} is no integer")
        position, rest = divmod(payload - self._low, self._step)
        if rest or not 0 <= position < self._count:
            raise Refusal(f"{payload} is outside {self._bounds()}")
        return np.int64(self._first + position)

    def encode(self, value: Any) -> Any:
        """Writes the integer."""
        position = _whole(value) - self._first
        if not 0 <= position < self._count:
            raise Refusal(f"{shown(value)} is outside {self.space}")
        return self._low + self._step * position

    def _bounds(self) -> str:
        every = f" in steps of {self._step}" if self._step != 1 else ""
        return f"[{self._low}, {self._low + self._step * (self._count - 1)}]{every}"


class EnumCodec(Codec):
    """One of some values: a Discrete of their positions."""

    rank = 0

    def __init__(self, values: Sequence[Any], space: spaces.Discrete | None = None) -> None:
        self.space = spaces.Discrete(len(values)) if space is None else space
        self._values = tuple(values)
        self._first = int(self.space.start)

    def decode(self, payload: Any) -> Any:
        """Reads a value as its position."""
        for position, value in enumerate(self._values):
            if value == payload and type(value) is type(payload):
                return np.int64(self._first + position)
        raise Refusal(f"{shown(payload)} is none of {shown(list(self._values))}")

    def encode(self, value: Any) -> Any:
        """Writes the value at a position."""
        position = _whole(value) - self._first
        if not 0 <= position < len(self._values):
            raise Refusal(f"{shown(value)} is outside {self.space}")
        return self._values[position]


class BoolCodec(Codec):
    """true and false: Discrete(2)."""

    rank = 0

    def __init__(self) -> None:
        self.space = spaces.Discrete(2)

    def decode(self, payload: Any) -> Any:
        """Reads a boolean as 0 or 1."""
        if payload is True or payload is False:
            return np.int64(payload)
        raise Refusal(f"{shown(payload)} is no boolean")

    def encode(self, value: Any) -> Any:
        """Writes a boolean."""
        whole = _whole(value)
        if whole not in (0, 1):
            raise Refusal(f"{shown(value)} is outside {self.space}")
        return bool(whole)


class TextCodec(Codec):
    """Text as it is."""

    def __init__(self, space: spaces.Text) -> None:
        self.space = space
        self._text = space

    def decode(self, payload: Any) -> Any:
        """Reads a string."""
        if not isinstance(payload, str):
            raise Refusal(f"{shown(payload)} is no text")
        return self._checked(payload)

    def encode(self, value: Any) -> Any:
        """Writes a string, which numpy may have wrapped."""
        return self._checked(_text(value))

    def _checked(self, text: str) -> str:
        low, high = self._text.min_length, self._text.max_length
        if not low <= len(text) <= high:
            raise Refusal(f"a text of {len(text)} characters is outside [{low}, {high}]")
        if not isinstance(self._text, UnicodeText) and text not in self._text:
            raise Refusal(f"{shown(text)} has characters outside the space's")
        return text


class JsonCodec(Codec):
    """A part of the payload as JSON text.

    Args:
        space: The text's space.
        form: The Python type that the value must have, or None for any.
    """

    rank = 3

    def __init__(self, space: JsonText, form: type | None = None) -> None:
        self.space = space
        self._json_space = space
        self._form = form

    def decode(self, payload: Any) -> Any:
        """Writes the payload as text."""
        self._check_form(payload)
        text = write_json(payload)
        if len(text) > self._json_space.max_length:
            raise Refusal(f"its JSON has {len(text)} characters, more than {self._json_space.max_length}")
        return text

    def encode(self, value: Any) -> Any:
        """Reads the text."""
        text = _text(value)
        try:
            payload = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refusal(f"{shown(text)} is no JSON: {error}") from None
        self._check_form(payload)
        return payload

    def _check_form(self, payload: Any) -> None:
        if self._form is not None and not isinstance(payload, self._form):
            raise Refusal(f"{shown(payload)} is no JSON {'object' if self._form is dict else 'array'}")


def as_array(value: Any) -> NDArray[Any]:
    """An array of whatever can be one.

    Raises:
        Refusal: It is ragged, or no array at all.
    """
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        raise Refusal(f"{shown(value)} is no array") from None


def _whole(value: Any) -> int:
    """A Python or numpy integer, a boolean, or an array of one of them, as an int."""
    if type(value) is int:
        return value
    item = getattr(value, "item", None)
    if callable(item):
        try:
            value = item()
        except (ValueError, RuntimeError):
            raise Refusal(f"{shown(value)} is more than one number") from None
    elif isinstance(value, list | tuple) and len(value) == 1:
        return _whole(value[0])
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise Refusal(f"{shown(value)} is no integer")


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, str):
        return str(value)
    raise Refusal(f"{shown(value)} is no text")


def blank(space: Space[Any]) -> Any:
    """The value nearest to zero in a numeric space; the shortest in others."""
    if isinstance(space, spaces.Box):
        return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high).astype(space.dtype)
    if isinstance(space, spaces.Discrete):
        return np.int64(space.start)
    if isinstance(space, spaces.Dict):
        return OrderedDict((key, blank(part)) for key, part in space.spaces.items())
    if isinstance(space, spaces.MultiBinary | spaces.MultiDiscrete):
        return np.zeros(space.shape, space.dtype)
    if isinstance(space, spaces.Text):
        return " " * space.min_length if space.min_length != 1 else "0"
    raise TypeError(f"{space} has no blank value")


def shown(value: Any) -> str:
    """A value for an error's text, short however large it is."""
    if value is None:
        return "null (a server writes it for NaN and the infinities too)"
    if isinstance(value, np.ndarray) and value.size > 16:
        return f"an array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
