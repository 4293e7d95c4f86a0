"""Codecs of single values: integers of a range, enumerations, booleans, text and free JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from openenv_gym.bridge.codecs.base import Codec, Columns, Refusal, shown
from openenv_gym.bridge.spaces.text import JsonForm, JsonText, UnicodeText, has_form, write_json


class RangeCodec(Codec):
    """An integer of a small range: a Discrete whose values count from the lowest."""

    rank = 0

    def __init__(self, space: spaces.Discrete, low: int, step: int = 1) -> None:
        self.space = space
        self._dtype = np.dtype(space.dtype)
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
        return self._dtype.type(self._first + position)

    def columns(self, payloads: Sequence[Any]) -> Columns | None:
        """Reads integers into one new array."""
        try:
            return {(): np.array([self.decode(payload) for payload in payloads], self._dtype)}
        except Refusal:
            return None

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
        self._dtype = np.dtype(self.space.dtype)
        self._values = tuple(values)
        self._first = int(self.space.start)

    def decode(self, payload: Any) -> Any:
        """Reads a value as its position."""
        for position, value in enumerate(self._values):
            if value == payload and type(value) is type(payload):
                return self._dtype.type(self._first + position)
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

    space: spaces.Text

    def __init__(self, space: spaces.Text) -> None:
        self.space = space

    def decode(self, payload: Any) -> Any:
        """Reads a string."""
        if not isinstance(payload, str):
            raise Refusal(f"{shown(payload)} is no text")
        return self._checked(payload)

    def encode(self, value: Any) -> Any:
        """Writes a string, which numpy may have wrapped."""
        return self._checked(_text(value))

    def _checked(self, text: str) -> str:
        low, high = self.space.min_length, self.space.max_length
        if not low <= len(text) <= high:
            raise Refusal(f"a text of {len(text)} characters is outside [{low}, {high}]")
        if not isinstance(self.space, UnicodeText) and text not in self.space:
            raise Refusal(f"{shown(text)} has characters outside the space's")
        return text


class JsonCodec(Codec):
    """A part of the payload as JSON text.

    Args:
        space: The text's space.
        form: What the model asks for, where the space itself leaves it open.
    """

    space: JsonText
    rank = 3

    def __init__(self, space: JsonText, form: JsonForm | None = None) -> None:
        self.space = space
        self._form = space.form or form

    def decode(self, payload: Any) -> Any:
        """Writes the payload as text."""
        self._check_form(payload)
        text = write_json(payload)
        if len(text) > self.space.max_length:
            raise Refusal(f"its JSON has {len(text)} characters, more than {self.space.max_length}")
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
        if not has_form(payload, self._form):
            raise Refusal(f"{shown(payload)} is no JSON {self._form}")


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
