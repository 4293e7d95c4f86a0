"""Observations and actions as plain JSON values, and where two of them differ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.json_codec import array_fallback
from openenv_gym_protocol.root_field import OBSERVATION_KEYS
from pydantic_core import from_json, to_json


@dataclass(frozen=True)
class Difference:
    """Where two values differ first.

    Attributes:
        field: The place, such as ``hand[0]``; empty where they differ as a whole.
        expected: What the first has there; None too where it has nothing.
        found: What the second has there.
    """

    field: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.field or 'value'}: {self.expected!r:.200} and {self.found!r:.200}"


def json_of(value: Any) -> bytes:
    """Writes a value as one line of JSON: models, arrays and scalars of numpy too, bytes as base64.

    Raises:
        ConfigurationError: It holds something that JSON cannot carry.
    """
    try:
        return to_json(value, inf_nan_mode="constants", bytes_mode="base64", fallback=array_fallback)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"This cannot be written as JSON: {error}") from error


def plain(value: Any) -> Any:
    """A value as JSON reads it back: mappings, lists, texts, numbers, booleans and None.

    Raises:
        ConfigurationError: It holds something that JSON cannot carry.
    """
    return from_json(json_of(value))


def seen(observation: Any) -> Any:
    """What the agent sees of an observation, as a plain value: without its metadata, its reward and its end."""
    value = plain(observation)
    if not isinstance(value, dict):
        return value
    return {name: each for name, each in value.items() if name not in OBSERVATION_KEYS}


def first_difference(expected: Any, found: Any, field: str = "") -> Difference | None:
    """Where two plain values differ first; None where they are equal. NaN equals NaN, and 1 equals 1.0."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for name in [*expected, *(name for name in found if name not in expected)]:
            place = f"{field}.{name}" if field else str(name)
            if name not in expected or name not in found:
                return Difference(place, expected.get(name), found.get(name))
            inner = first_difference(expected[name], found[name], place)
            if inner is not None:
                return inner
        return None
    if isinstance(expected, list) and isinstance(found, list):
        for index, (one, other) in enumerate(zip(expected, found, strict=False)):
            inner = first_difference(one, other, f"{field}[{index}]")
            if inner is not None:
                return inner
        same_length = len(expected) == len(found)
        return None if same_length else Difference(f"{field}.length".lstrip("."), len(expected), len(found))
    return None if _are_equal(expected, found) else Difference(field, expected, found)


def _are_equal(expected: Any, found: Any) -> bool:
    if isinstance(expected, bool) is not isinstance(found, bool):
        return False
    if isinstance(expected, float) and isinstance(found, float) and math.isnan(expected):
        return math.isnan(found)
    return bool(expected == found)
