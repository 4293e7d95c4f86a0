"""What both views of a JSON Schema share: how each of its parts becomes a codec."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.gymnasium_spaces import data_to_space
from openenv_gym_protocol.json_schema import SPACE_HINT, Definitions, Schema, element_schemas, fixed_length

from openenv_gym.bridge.codecs.arrays import ArrayCodec
from openenv_gym.bridge.codecs.base import MISSING, Codec
from openenv_gym.bridge.codecs.leaves import BoolCodec, EnumCodec, RangeCodec
from openenv_gym.bridge.codecs.lists import SetCodec
from openenv_gym.bridge.codecs.objects import EmptyCodec, Field, FieldCodec, ObjectCodec
from openenv_gym.bridge.schema.exact import exact_codec
from openenv_gym.bridge.schema.json_schema import (
    MAX_ELEMENTS,
    Numeric,
    branches,
    numeric,
)
from openenv_gym.bridge.spaces.text import DEFAULT_MAX_LENGTH, DrawJson, JsonText, UnicodeText, draw_object

SMALL_RANGE = 1024
"""Integers of at most so many values become a Discrete."""


class Builder(ABC):
    """Builds a tree of codecs. A codec of None means that the view leaves the part out."""

    is_flat: ClassVar[bool]
    sends = False
    """Whether payloads are sent rather than received: an action must be played as it was given."""

    def root(self, schema: Schema, definitions: Definitions, reserved: frozenset[str] = frozenset()) -> Codec:
        """The codec of a whole model.

        Args:
            schema: The model's schema.
            definitions: What it refers to.
            reserved: Keys of the model that are no part of its space.

        Raises:
            UnsupportedSchema: No space can be derived; the message names the field.
        """
        codec = self.codec(schema, definitions, reserved, is_root=True)
        if codec is None:
            raise definitions.unsupported("nothing in it is numeric; use spaces='faithful'")
        return codec

    def codec(
        self, schema: Any, definitions: Definitions, reserved: frozenset[str] = frozenset(), *, is_root: bool = False
    ) -> Codec | None:
        """The codec of a part of a model."""
        schema, definitions = definitions.resolve(schema)
        if SPACE_HINT in schema:
            return self._hinted(schema, definitions)
        if "enum" in schema or "const" in schema:
            return EnumCodec(schema["enum"] if "enum" in schema else [schema["const"]])
        forms = branches(schema, definitions)
        if forms is not None:
            return self.union_part(forms, definitions, reserved)
        kind = schema.get("type")
        if kind is None:
            kind = "object" if is_root or "properties" in schema else "array" if "items" in schema else "any"
        if kind == "object":
            return self._object(schema, definitions, reserved, is_root=is_root)
        return self._leaf(str(kind), schema, definitions)

    def _leaf(self, kind: str, schema: Schema, definitions: Definitions) -> Codec | None:
        match kind:
            case "boolean":
                return BoolCodec()
            case "integer" | "number":
                return self._number(schema, definitions)
            case "null":
                return EnumCodec([None])
            case "string":
                return self.text_part(_unicode(schema))
            case "array":
                return self._array(schema, definitions)
            case "any":
                return self.json_part(JsonText())
        raise definitions.unsupported(f"the type {kind!r} is not one of JSON's")

    def _hinted(self, schema: Schema, definitions: Definitions) -> Codec | None:
        try:
            space = data_to_space(schema[SPACE_HINT])
        except ConfigurationError as error:
            raise definitions.unsupported(str(error)) from error
        plain = {key: value for key, value in schema.items() if key != SPACE_HINT}
        return exact_codec(space, plain, definitions, flat=self.is_flat, sends=self.sends)

    def _number(self, schema: Schema, definitions: Definitions) -> Codec:
        found = numeric(schema, definitions)
        assert found is not None
        low, high = int(found.low) if found.kind == "integer" else 0, found.high
        if found.kind == "integer":
            step = int(schema.get("multipleOf", 1))
            low = -(-low // step) * step
            if (int(high) - low) // step < SMALL_RANGE:
                return RangeCodec(spaces.Discrete((int(high) - low) // step + 1), low, step)
            if step != 1:
                raise definitions.unsupported("'multipleOf' of a wide range is not supported")
        return self._box(found)

    def _box(self, found: Numeric, *, dtype: Any = None) -> ArrayCodec:
        shape = found.low.shape or (1,)
        low, high = (np.broadcast_to(edge, shape) for edge in (found.low, found.high))
        space: spaces.Space[Any]
        if found.kind == "boolean":
            space = spaces.MultiBinary(shape[0] if len(shape) == 1 else list(shape))
        else:
            dtype = self._dtype(found) if dtype is None else dtype
            space = spaces.Box(_inward(low, dtype, np.inf), _inward(high, dtype, -np.inf), shape, dtype)
        return ArrayCodec(space, low, high, found.kind, is_scalar=found.is_scalar)

    def _dtype(self, found: Numeric) -> Any:
        return np.int64 if found.kind == "integer" else np.float32

    def _array(self, schema: Schema, definitions: Definitions) -> Codec | None:
        found = numeric(schema, definitions)
        if found is not None and found.is_plain:
            return self._box(found)
        length = fixed_length(schema)
        if length is not None:
            if length > MAX_ELEMENTS:
                raise definitions.unsupported(f"an array of more than {MAX_ELEMENTS} elements")
            places = enumerate(element_schemas(schema, length))
            return self.tuple_part([self.codec(place, definitions.at(str(i))) for i, place in places])
        if "prefixItems" in schema or schema.get("items", True) is True or schema["items"] == {}:
            return self.json_part(JsonText(form="array"))
        legal = _legal_set(schema, definitions)
        return legal if legal is not None else self.list_part(schema, definitions)

    def _object(
        self, schema: Schema, definitions: Definitions, reserved: frozenset[str], *, is_root: bool
    ) -> Codec | None:
        properties = schema.get("properties")
        if not properties and not is_root:
            return self._mapping(schema, definitions)
        required = set(schema.get("required", ()))
        fields = [
            self._field(name, part, definitions.at(name), is_required=name in required)
            for name, part in (properties or {}).items()
            if name not in reserved
        ]
        if is_root and len(fields) <= 1:
            return _single(fields)
        if fields and all(field.codec is None for field in fields):
            return None
        return ObjectCodec(fields, ignored=reserved, is_flat=self.is_flat, is_closed=not is_root)

    def _mapping(self, schema: Schema, definitions: Definitions) -> Codec | None:
        values = schema.get("additionalProperties")
        draw: DrawJson = draw_object
        if isinstance(values, Mapping) and values:
            inner = self.faithful().codec(values, definitions.at("*"))
            assert inner is not None  # the faithful view leaves nothing out
            draw = partial(draw_object, draw_value=inner.draw)
        return self.json_part(JsonText(form="object", draw=draw))

    def _field(self, name: str, schema: Any, definitions: Definitions, *, is_required: bool) -> Field:
        codec = self.codec(schema, definitions)
        default = schema.get("default", MISSING) if isinstance(schema, Mapping) else MISSING
        filler = self.filler(schema, definitions) if codec is None and is_required else MISSING
        return Field(name, codec, default, filler)

    @abstractmethod
    def faithful(self) -> Builder:
        """The builder that leaves nothing out."""

    @abstractmethod
    def text_part(self, space: UnicodeText) -> Codec | None:
        """Free text."""

    @abstractmethod
    def json_part(self, space: JsonText) -> Codec | None:
        """Free JSON."""

    @abstractmethod
    def tuple_part(self, codecs: list[Codec | None]) -> Codec | None:
        """A list of fixed length whose elements differ or are no numbers."""

    @abstractmethod
    def list_part(self, schema: Schema, definitions: Definitions) -> Codec | None:
        """A list of varying length."""

    @abstractmethod
    def union_part(self, forms: list[Any], definitions: Definitions, reserved: frozenset[str]) -> Codec | None:
        """One of several forms, null and a missing key among them."""

    @abstractmethod
    def filler(self, schema: Any, definitions: Definitions) -> Any:
        """What is sent for a required field that the view leaves out."""


def _unicode(schema: Schema) -> UnicodeText:
    least = int(schema.get("minLength", 0))
    return UnicodeText(int(schema.get("maxLength", max(DEFAULT_MAX_LENGTH, least))), min_length=least)


def _single(fields: list[Field]) -> Codec | None:
    if not fields:
        return EmptyCodec()
    codec = fields[0].codec
    return None if codec is None else FieldCodec(fields[0].name, codec)


def _legal_set(schema: Schema, definitions: Definitions) -> Codec | None:
    """Unique integers of a small range, such as the legal actions of a board game."""
    if not schema.get("uniqueItems") or schema.get("minItems"):
        return None
    items = numeric(schema["items"], definitions)
    if items is None or items.kind != "integer" or not items.is_scalar or not items.is_plain:
        return None
    count = int(items.high) - int(items.low) + 1
    return SetCodec(int(items.low), count) if count <= SMALL_RANGE else None


def _inward(bound: Any, dtype: Any, towards: float) -> Any:
    """A bound in the space's dtype, rounded to the side that the schema allows."""
    cast = np.asarray(bound).astype(dtype)
    wrong = cast < bound if towards > 0 else cast > bound
    return np.where(wrong, np.nextafter(cast, dtype(towards)), cast) if np.any(wrong) else cast
