"""Runs inside: values as text, for those who do not trust each other: plain data, in which nothing can run."""

from __future__ import annotations

import json
from typing import Any

MAX_CHARACTERS = 500_000
"""Of one value as text."""

_KINDS: dict[str, Any] = {"t": tuple, "s": set, "f": frozenset, "l": list}


class NotPlain(Exception):
    """A value that is no plain data, or too much of it."""


def write(value: Any) -> str:
    """A value as text.

    Args:
        value: None, a truth value, number, text or bytes, or a list, tuple, set or dict of such. What derives from
            these types is written as them.

    Raises:
        NotPlain: It is something else, too large, or nested too deep.
    """
    try:
        text = json.dumps(_plain(value))
    except (RecursionError, ValueError) as error:
        raise NotPlain(f"a value cannot be carried: {error}") from None
    if len(text) > MAX_CHARACTERS:
        raise NotPlain(f"a value of {len(text)} characters is too large: {MAX_CHARACTERS} may be")
    return text


def read(text: str) -> Any:
    """The value of a text that ``write`` made, or could have made.

    Raises:
        NotPlain: It could not.
    """
    try:
        return _value(json.loads(text))
    except (RecursionError, ValueError, TypeError, KeyError, IndexError) as error:
        raise NotPlain(f"no value: {error}") from None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, bytes | bytearray):
        return ["b", bytes(value).hex()]
    if isinstance(value, dict):
        return ["d", *([_plain(key), _plain(each)] for key, each in dict.items(value))]
    for name, collection in _KINDS.items():
        if isinstance(value, collection):
            return [name, *map(_plain, collection.__iter__(value))]
    raise NotPlain(f"a value of type {type(value).__name__} cannot be carried: only plain data can")


def _value(told: Any) -> Any:
    if not isinstance(told, list):
        return told
    name, *rest = told
    if name == "b":
        return bytes.fromhex(rest[0])
    if name == "d":
        return {_value(key): _value(value) for key, value in rest}
    return _KINDS[name](map(_value, rest))
