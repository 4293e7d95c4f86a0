"""Codecs of spaces that a server or the catalogue declares, used as they are declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector.utils import concatenate, create_empty_array, iterate
from openenv_gym_protocol.errors import SchemaMismatch

from openenv_gym.bridge.array_codecs import ArrayCodec, PixelCodec
from openenv_gym.bridge.codecs import MISSING, Codec, EnumCodec, JsonCodec, RangeCodec, Refusal, TextCodec
from openenv_gym.bridge.list_codecs import FlatTupleCodec, SequenceCodec, SetCodec, TupleCodec
from openenv_gym.bridge.object_codecs import Field, FieldCodec, ObjectCodec
from openenv_gym.bridge.schema import ABSENT, Definitions, Schema, element_schemas, fixed_length
from openenv_gym.bridge.text_spaces import JsonText


def exact_codec(
    space: Space[Any], schema: Any = None, definitions: Definitions | None = None, *, flat: bool = False
) -> Codec | None:
    """The codec of a declared space.

    Args:
        space: The space.
        schema: The JSON Schema of its payload, where known: it says whether one number is a list of one, and
            what an enumeration's values are.
        definitions: What the schema refers to.
        flat: Whether the view for numeric trainers is asked for.

    Returns:
        The codec, or None for a part that the flat view leaves out.

    Raises:
        UnsupportedSchema: The space has no form as a payload.
    """
    known = definitions or Definitions({})
    resolved: Schema = {}
    if schema is not None:
        resolved, known = known.resolve(schema)
    return _Exact(known, flat=flat).codec(space, resolved)


def exact_root(space: Space[Any], schema: Schema, reserved: frozenset[str], *, flat: bool = False) -> Codec:
    """The codec of a whole action or observation whose space is declared.

    A Dict whose keys are the model's fields is the model; any other space is that of the model's one field, or of
    the one that is required.

    Raises:
        SchemaMismatch: The space fits no field of the schema.
        UnsupportedSchema: The flat view would leave nothing.
    """
    definitions = Definitions.of(schema)
    resolved, definitions = definitions.resolve(schema)
    properties = {name: part for name, part in resolved.get("properties", {}).items() if name not in reserved}
    if isinstance(space, spaces.Dict) and (properties.keys() >= space.spaces.keys() or not properties):
        return _kept(exact_codec(space, resolved, definitions, flat=flat), definitions)
    required = [name for name in resolved.get("required", ()) if name in properties]
    names = list(properties) if len(properties) == 1 else required
    if len(names) != 1:
        raise SchemaMismatch(f"The declared space {space} belongs to none of the fields {sorted(properties)}.")
    codec = exact_codec(space, properties[names[0]], definitions.at(names[0]), flat=flat)
    return FieldCodec(names[0], _kept(codec, definitions))


def _kept(codec: Codec | None, definitions: Definitions) -> Codec:
    if codec is None:
        raise definitions.unsupported("nothing in the declared space is numeric; use spaces='faithful'")
    return codec


class _Exact:
    def __init__(self, definitions: Definitions, *, flat: bool) -> None:
        self._definitions = definitions
        self._flat = flat

    def codec(self, space: Space[Any], schema: Schema) -> Codec | None:
        match space:
            case spaces.Discrete():
                return self._discrete(space, schema)
            case spaces.Box():
                return self._box(space, schema)
            case spaces.MultiDiscrete():
                high = space.start + space.nvec - 1
                return ArrayCodec(space, space.start, high, "integer")
            case spaces.MultiBinary():
                return self._binary(space, schema)
            case spaces.Text():
                return None if self._flat else self._text(space, schema)
        return self._container(space, schema)

    def _container(self, space: Space[Any], schema: Schema) -> Codec | None:
        match space:
            case spaces.Dict():
                return self._dict(space, schema)
            case spaces.Tuple():
                return self._tuple(space, schema)
            case spaces.Sequence():
                return None if self._flat else self._sequence(space, schema)
            case spaces.OneOf():
                return None if self._flat else self._one_of(space)
        raise self._definitions.unsupported(f"{space} has no form as a payload")

    def _part(self, space: Space[Any], schema: Any) -> Codec | None:
        return exact_codec(space, schema, self._definitions, flat=self._flat)

    def _discrete(self, space: spaces.Discrete, schema: Schema) -> Codec:
        kept = spaces.Discrete(int(space.n)) if self._flat else space
        values = schema.get("enum")
        if values is not None and len(values) == space.n and not all(type(value) is int for value in values):
            return EnumCodec(values, kept)
        return RangeCodec(kept, int(space.start))

    def _box(self, space: spaces.Box, schema: Schema) -> Codec:
        if space.dtype == np.uint8 and schema.get("contentEncoding") == "base64":
            return PixelCodec(space)
        whole = np.issubdtype(space.dtype, np.integer)
        kind = "integer" if whole else "boolean" if space.dtype == np.bool_ else "number"
        is_scalar = space.shape == () or schema.get("type") in ("integer", "number", "boolean")
        shape = space.shape or ((1,) if self._flat else ())
        low, high = space.low.reshape(shape), space.high.reshape(shape)
        # Pixels stay bytes: trainers know them by their dtype.
        if self._flat and (shape != space.shape or space.dtype not in (np.float32, np.uint8)):
            dtype = np.uint8 if space.dtype == np.uint8 else np.float32
            space = spaces.Box(low.astype(dtype), high.astype(dtype), shape, dtype)
        return ArrayCodec(space, low, high, kind, is_scalar=is_scalar)

    def _binary(self, space: spaces.MultiBinary, schema: Schema) -> Codec:
        shape = space.shape
        if schema.get("uniqueItems") and len(shape) == 1:
            return _as_declared(SetCodec(0, shape[0]), space)
        items = schema.get("items")
        kind = "boolean" if isinstance(items, dict) and items.get("type") == "boolean" else "integer"
        return ArrayCodec(space, np.zeros(shape, np.int8), np.ones(shape, np.int8), kind)

    def _text(self, space: spaces.Text, schema: Schema) -> Codec:
        if not isinstance(space, JsonText):
            return TextCodec(space)
        forms: dict[str, type] = {"object": dict, "array": list}
        return JsonCodec(space, forms.get(str(schema.get("type"))))

    def _dict(self, space: spaces.Dict, schema: Schema) -> Codec | None:
        properties = schema.get("properties", {})
        fields = [
            Field(name, self._part(part, properties.get(name)), _default(properties.get(name)))
            for name, part in space.spaces.items()
        ]
        if fields and all(field.codec is None for field in fields):
            return None
        codec = ObjectCodec(fields, is_flat=self._flat)
        return codec if self._flat else _as_declared(codec, space)

    def _tuple(self, space: spaces.Tuple[Any], schema: Schema) -> Codec | None:
        length = len(space.spaces)
        places = element_schemas(schema, length) if fixed_length(schema) == length else [None] * length
        codecs = [self._part(part, place) for part, place in zip(space.spaces, places, strict=True)]
        if self._flat:
            return None if any(codec is None for codec in codecs) else FlatTupleCodec(codecs)
        return _as_declared(TupleCodec([codec for codec in codecs if codec is not None]), space)

    def _one_of(self, space: spaces.OneOf[Any]) -> Codec:
        return TaggedCodec(space, [_kept(self.codec(part, {}), self._definitions) for part in space.spaces])

    def _sequence(self, space: spaces.Sequence, schema: Schema) -> Codec:
        item = _kept(self._part(space.feature_space, schema.get("items")), self._definitions)
        low, high = getattr(space, "min_length", 0), getattr(space, "max_length", None)
        codec = SequenceCodec(item, space, low, high)
        return StackedCodec(codec, space) if space.stack else codec


def _default(schema: Any) -> Any:
    """What stands for a key that is not there, such as a step's field in the observation of a reset."""
    if not isinstance(schema, dict):
        return MISSING
    forms = [form for form in schema.get("anyOf", ()) if isinstance(form, dict)]
    told = forms if any(ABSENT in form for form in forms) else [schema]
    return next((form["default"] for form in told if "default" in form), MISSING)


def _as_declared(codec: Codec, space: Space[Any]) -> Codec:
    # The declared space itself: an equal one could differ in the order of its keys, which flattening follows.
    codec.space = space
    return codec


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
        return concatenate(self._feature, values, rows)

    def encode(self, value: Any) -> Any:
        """Writes each row."""
        try:
            rows = list(iterate(self._stacked, value))
        except (KeyError, TypeError, ValueError) as error:
            raise Refusal(f"{value!r:.80} cannot be unstacked: {error}") from None
        return self._codec.encode(rows)


class TaggedCodec(Codec):
    """A declared OneOf: a list of the branch's index and its value, since several branches may look alike."""

    def __init__(self, space: spaces.OneOf[Any], codecs: Sequence[Codec]) -> None:
        self._codecs = tuple(codecs)
        self.space = space

    def decode(self, payload: Any) -> Any:
        """Reads the pair."""
        index, value = self._pair(payload)
        return (np.int64(index), self._codecs[index].decode(value))

    def encode(self, value: Any) -> Any:
        """Writes the pair."""
        index, inner = self._pair(value)
        return [index, self._codecs[index].encode(inner)]

    def _pair(self, value: Any) -> tuple[int, Any]:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise Refusal(f"{value!r:.80} is no pair of an index and a value")
        index = value[0]
        if isinstance(index, bool) or not isinstance(index, int | np.integer) or not 0 <= index < len(self._codecs):
            raise Refusal(f"{index!r:.80} is no index of {len(self._codecs)} spaces")
        return int(index), value[1]
