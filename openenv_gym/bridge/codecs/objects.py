"""Codecs of objects: what a pydantic model is on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from openenv_gym.bridge.codecs.base import MISSING, Codec, Columns, Refusal, shown


@dataclass(frozen=True)
class Field:
    """One field of an object.

    Attributes:
        name: Its key in the payload.
        codec: How it is read and written; None for a field that the view leaves out.
        default: What the schema says stands for a missing key, or ``MISSING``.
        filler: What is sent for a field that is left out, or ``MISSING`` to send no key.
    """

    name: str
    codec: Codec | None
    default: Any = MISSING
    filler: Any = MISSING


class ObjectCodec(Codec):
    """An object with named fields: a Dict, with its keys sorted as Gymnasium sorts them.

    Args:
        fields: The fields.
        is_flat: Whether the fields' own Dicts are spread into this one, under keys such as ``position.x``.
        is_closed: Whether unknown keys are refused; a union tells its branches apart by it.
        ignored: Keys that are not unknown, but no part of the value either.
    """

    space: spaces.Dict

    def __init__(
        self,
        fields: Sequence[Field],
        *,
        is_flat: bool = False,
        is_closed: bool = False,
        ignored: frozenset[str] = frozenset(),
    ) -> None:
        self._fields = tuple(fields)
        self._is_closed = is_closed
        self._names = frozenset(field.name for field in fields) | ignored
        parts: dict[str, Space[Any]] = {}
        self._spread: dict[str, tuple[str, ...]] = {}
        for field in fields:
            if field.codec is None:
                continue
            space = field.codec.space
            if is_flat and isinstance(space, spaces.Dict):
                self._spread[field.name] = tuple(space.spaces)
                parts.update({f"{field.name}.{key}": part for key, part in space.spaces.items()})
            else:
                parts[field.name] = space
        self.space = spaces.Dict(parts)

    def decode(self, payload: Any) -> Any:
        """Reads an object, without the keys that the schema does not have."""
        if not isinstance(payload, dict):
            raise Refusal(f"{shown(payload)} is no object")
        if self._is_closed and not self._names.issuperset(payload):
            raise Refusal(f"it has unknown keys {sorted(set(payload) - self._names)}")
        value: dict[str, Any] = {}
        for field in self._fields:
            if field.codec is not None:
                self._put(value, field, self._read(field, payload))
        return {key: value[key] for key in self.space.spaces}

    def columns(self, payloads: Sequence[Any]) -> Columns | None:
        """Reads the fields of all objects, one field after the other."""
        if self._is_closed or self._spread:
            return None
        columns: dict[tuple[str | int, ...], NDArray[Any]] = {}
        for field in self._fields:
            if field.codec is None:
                continue
            parts = _parts(payloads, field.name, field.codec)
            if parts is None:
                return None
            columns.update({(field.name, *path): array for path, array in parts.items()})
        return columns

    def encode(self, value: Any) -> Any:
        """Writes an object."""
        if not isinstance(value, dict):
            raise Refusal(f"{shown(value)} is no dict")
        strangers = [key for key in value if key not in self.space.spaces]
        if strangers:
            raise Refusal(f"it has unknown keys {shown(strangers)}")
        payload: dict[str, Any] = {}
        for field in self._fields:
            written = field.filler if field.codec is None else self._write(field, field.codec, value)
            if written is not MISSING:
                payload[field.name] = written
        return payload

    def _read(self, field: Field, payload: dict[str, Any]) -> Any:
        assert field.codec is not None
        part = payload.get(field.name, field.default)
        try:
            if part is MISSING and not field.codec.may_be_missing:
                raise Refusal("it is missing")
            return field.codec.decode(part)
        except Refusal as refusal:
            raise refusal.within(field.name) from None

    def _put(self, value: dict[str, Any], field: Field, part: Any) -> None:
        if field.name in self._spread:
            value.update({f"{field.name}.{key}": item for key, item in part.items()})
        else:
            value[field.name] = part

    def _write(self, field: Field, codec: Codec, value: dict[str, Any]) -> Any:
        keys = self._spread.get(field.name)
        try:
            if keys is None:
                return codec.encode(value[field.name])
            return codec.encode({key: value[f"{field.name}.{key}"] for key in keys})
        except KeyError as error:
            raise Refusal(f"the key {error} is missing") from None
        except Refusal as refusal:
            raise refusal.within(field.name) from None


class FieldCodec(Codec):
    """An object with one field, as that field's space."""

    def __init__(self, name: str, codec: Codec) -> None:
        self.space = codec.space
        self.rank = codec.rank
        self._name = name
        self._codec = codec

    def decode(self, payload: Any) -> Any:
        """Reads the one field."""
        if not isinstance(payload, dict):
            raise Refusal(f"{shown(payload)} is no object")
        try:
            if self._name not in payload:
                raise Refusal("it is missing")
            return self._codec.decode(payload[self._name])
        except Refusal as refusal:
            raise refusal.within(self._name) from None

    def columns(self, payloads: Sequence[Any]) -> Columns | None:
        """Reads the one field of all objects."""
        return _parts(payloads, self._name, self._codec)

    def encode(self, value: Any) -> Any:
        """Writes the object around the field."""
        try:
            return {self._name: self._codec.encode(value)}
        except Refusal as refusal:
            raise refusal.within(self._name) from None


class EmptyCodec(Codec):
    """An object without fields: Discrete(1)."""

    def __init__(self) -> None:
        self.space = spaces.Discrete(1)

    def decode(self, payload: Any) -> Any:
        """Reads nothing."""
        if not isinstance(payload, dict):
            raise Refusal(f"{shown(payload)} is no object")
        return np.int64(0)

    def encode(self, value: Any) -> Any:
        """Writes the empty object."""
        if value not in self.space and np.size(value) != 1:
            raise Refusal(f"{shown(value)} is outside {self.space}")
        return {}


def _parts(payloads: Sequence[Any], name: str, codec: Codec) -> Columns | None:
    """The columns of a field that all objects have; None where one has not."""
    try:
        parts = [payload[name] for payload in payloads]
    except (KeyError, TypeError):
        return None
    return codec.columns(parts)
