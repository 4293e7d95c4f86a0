"""Codecs of unions, and of values that may be null or not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from openenv_gym.bridge.codecs.base import MISSING, Codec, Refusal, blank, shown
from openenv_gym.bridge.codecs.leaves import BoolCodec
from openenv_gym.bridge.spaces.containers import Choice

_PRESENT = BoolCodec()


class OptionalCodec(Codec):
    """A value that may be null or not there: a choice of the value and nothing.

    Args:
        codec: The value's.
        is_absent: Whether nothing is a missing key instead of null.
    """

    may_be_missing = True

    def __init__(self, codec: Codec, *, is_absent: bool = False) -> None:
        self._codec = codec
        self._nothing = MISSING if is_absent else None
        self.space = Choice((codec.space, spaces.Discrete(1)))

    def decode(self, payload: Any) -> Any:
        """Reads a value as ``(0, value)`` and nothing as ``(1, 0)``."""
        if payload is None or payload is MISSING:
            return (np.int64(1), np.int64(0))
        return (np.int64(0), self._codec.decode(payload))

    def encode(self, value: Any) -> Any:
        """Writes the value, or nothing."""
        branch, inner = _branch(value, 2)
        return self._nothing if branch else self._codec.encode(inner)


class FlatOptionalCodec(Codec):
    """A value that may be null or not there, as a Dict of ``value`` and ``present``."""

    space: spaces.Dict
    may_be_missing = True

    def __init__(self, codec: Codec, *, is_absent: bool = False) -> None:
        self._codec = codec
        self._nothing = MISSING if is_absent else None
        space = codec.space
        self._keys = tuple(space.spaces) if isinstance(space, spaces.Dict) else None
        inner: dict[str, Space[Any]] = (
            {f"value.{key}": part for key, part in space.spaces.items()}
            if isinstance(space, spaces.Dict)
            else {"value": space}
        )
        self.space = spaces.Dict({**inner, "present": spaces.Discrete(2)})

    def decode(self, payload: Any) -> Any:
        """Reads a value with ``present`` 1, and nothing as zeros with ``present`` 0."""
        present = payload is not None and payload is not MISSING
        inner = self._codec.decode(payload) if present else blank(self._codec.space)
        spread = {"value": inner} if self._keys is None else {f"value.{key}": inner[key] for key in self._keys}
        spread["present"] = np.int64(present)
        return {key: spread[key] for key in self.space.spaces}

    def encode(self, value: Any) -> Any:
        """Writes the value, or nothing where ``present`` is 0."""
        try:
            if not _PRESENT.encode(value["present"]):
                return self._nothing
            if self._keys is None:
                return self._codec.encode(value["value"])
            return self._codec.encode({key: value[f"value.{key}"] for key in self._keys})
        except (KeyError, TypeError, ValueError) as error:
            raise Refusal(f"it is no dict with present and value: {error}") from None


class UnionCodec(Codec):
    """One of several forms: a choice of their spaces, in the schema's order."""

    def __init__(self, codecs: Sequence[Codec]) -> None:
        self._codecs = tuple(codecs)
        self._order = sorted(range(len(codecs)), key=lambda index: codecs[index].rank)
        self.space = Choice([codec.space for codec in codecs])

    def decode(self, payload: Any) -> Any:
        """Reads a payload by the first form that it has, narrow forms first."""
        reasons = []
        for index in self._order:
            try:
                return (np.int64(index), self._codecs[index].decode(payload))
            except Refusal as refusal:
                reasons.append(refusal.reason)
        raise Refusal(f"{shown(payload)} has none of the forms ({'; '.join(reasons)})")

    def encode(self, value: Any) -> Any:
        """Writes the chosen form."""
        branch, inner = _branch(value, len(self._codecs))
        return self._codecs[branch].encode(inner)


class TaggedCodec(Codec):
    """A declared OneOf: a list of the branch's index and its value, since several branches may look alike."""

    def __init__(self, space: spaces.OneOf[Any], codecs: Sequence[Codec]) -> None:
        self._codecs = tuple(codecs)
        self.space = space

    def decode(self, payload: Any) -> Any:
        """Reads the pair."""
        index, value = _branch(payload, len(self._codecs))
        return (np.int64(index), self._codecs[index].decode(value))

    def encode(self, value: Any) -> Any:
        """Writes the pair."""
        index, inner = _branch(value, len(self._codecs))
        return [index, self._codecs[index].encode(inner)]


def _branch(value: Any, count: int) -> tuple[int, Any]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise Refusal(f"{shown(value)} is no pair of a form's index and its value")
    index = value[0]
    if isinstance(index, bool) or not isinstance(index, int | np.integer) or not 0 <= index < count:
        raise Refusal(f"{shown(index)} is no index of {count} forms")
    return int(index), value[1]
