"""Codecs of spaces that a server or the catalogue declares, used as they are declared."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray
from openenv_gym_protocol.json_schema import Definitions, Schema, default_of, element_schemas, fixed_length
from openenv_gym_protocol.root_field import root_field

from openenv_gym.bridge.codecs.arrays import ArrayCodec, PixelCodec
from openenv_gym.bridge.codecs.base import MISSING, Codec
from openenv_gym.bridge.codecs.graphs import GraphCodec
from openenv_gym.bridge.codecs.leaves import EnumCodec, JsonCodec, RangeCodec, TextCodec
from openenv_gym.bridge.codecs.lists import FlatTupleCodec, SequenceCodec, SetCodec, StackedCodec, TupleCodec
from openenv_gym.bridge.codecs.objects import Field, FieldCodec, ObjectCodec
from openenv_gym.bridge.codecs.unions import TaggedCodec
from openenv_gym.bridge.spaces.text import JsonText


def exact_codec(
    space: Space[Any],
    schema: Any = None,
    definitions: Definitions | None = None,
    *,
    flat: bool = False,
    sends: bool = False,
) -> Codec | None:
    """The codec of a declared space.

    Args:
        space: The space.
        schema: The JSON Schema of its payload, where known: it says whether one number is a list of one, and
            what an enumeration's values are.
        definitions: What the schema refers to.
        flat: Whether the view for numeric trainers is asked for.
        sends: Whether it is the space of an action, whose integers stay integers in every view.

    Returns:
        The codec, or None for a part that the flat view leaves out.

    Raises:
        UnsupportedSchema: The space has no form as a payload.
    """
    known = definitions or Definitions({})
    resolved: Schema = {}
    if schema is not None:
        resolved, known = known.resolve(schema)
    return _Exact(known, flat=flat, sends=sends).codec(space, resolved)


def exact_root(
    space: Space[Any], schema: Schema, reserved: frozenset[str], *, flat: bool = False, sends: bool = False
) -> Codec:
    """The codec of a whole action or observation whose space is declared.

    Which field the space is about is the rule of ``openenv_gym_protocol.root_field``, which servers follow too.

    Raises:
        SchemaMismatch: The space fits no field of the schema.
        UnsupportedSchema: The flat view would leave nothing.
    """
    definitions = Definitions.of(schema)
    resolved, definitions = definitions.resolve(schema)
    name = root_field(space.spaces if isinstance(space, spaces.Dict) else None, resolved, reserved)
    if name is None:
        return _kept(exact_codec(space, resolved, definitions, flat=flat, sends=sends), definitions)
    codec = exact_codec(space, resolved["properties"][name], definitions.at(name), flat=flat, sends=sends)
    return FieldCodec(name, _kept(codec, definitions))


def flat_dtype(dtype: Any, low: NDArray[Any], high: NDArray[Any], *, sends: bool) -> Any:
    """The dtype that numbers have in the flat view.

    Numbers are float32 there, because trainers read whole-numbered Boxes as floats anyway and several refuse them. Not
    so what a float32 would change: actions keep their integers and booleans, and observed integers get the first of
    float32 and float64 that holds each of them exactly, else keep their own dtype.

    Args:
        dtype: The numbers' own.
        low: The lowest of each element.
        high: The highest of each element.
        sends: Whether they are an action's.
    """
    kind = np.dtype(dtype).kind
    if kind not in "iub":
        return np.float32
    if sends:
        return np.dtype(dtype).type
    largest = max(abs(int(low.min())), abs(int(high.max()))) if low.size else 0
    if largest <= 2**24:
        return np.float32
    return np.float64 if largest <= 2**53 else np.dtype(dtype).type


def _kept(codec: Codec | None, definitions: Definitions) -> Codec:
    if codec is None:
        raise definitions.unsupported("nothing in the declared space is numeric; use spaces='faithful'")
    return codec


class _Exact:
    def __init__(self, definitions: Definitions, *, flat: bool, sends: bool) -> None:
        self._definitions = definitions
        self._flat = flat
        self._sends = sends

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
                return None if self._flat else self._one_of(space, schema)
            case spaces.Graph():
                return None if self._flat else self._graph(space, schema)
        raise self._definitions.unsupported(f"{space} has no form as a payload")

    def _part(self, space: Space[Any], schema: Any) -> Codec | None:
        return exact_codec(space, schema, self._definitions, flat=self._flat, sends=self._sends)

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
            dtype = np.uint8 if space.dtype == np.uint8 else flat_dtype(space.dtype, low, high, sends=self._sends)
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
        kind = schema.get("type")
        return JsonCodec(space, kind if kind in ("object", "array") else None)

    def _dict(self, space: spaces.Dict, schema: Schema) -> Codec | None:
        properties = schema.get("properties", {})
        fields = [
            Field(name, self._part(part, properties.get(name)), default_of(properties.get(name), MISSING))
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

    def _one_of(self, space: spaces.OneOf[Any], schema: Schema) -> Codec:
        pairs = [self._definitions.resolve(pair)[0] for pair in schema.get("oneOf", ())]
        if len(pairs) != len(space.spaces) or any(fixed_length(pair) != 2 for pair in pairs):
            pairs = []
        parts = [element_schemas(pair, 2)[1] for pair in pairs] or [None] * len(space.spaces)
        codecs = [self._part(part, said) for part, said in zip(space.spaces, parts, strict=True)]
        return TaggedCodec(space, [_kept(codec, self._definitions) for codec in codecs])

    def _sequence(self, space: spaces.Sequence, schema: Schema) -> Codec:
        item = _kept(self._part(space.feature_space, schema.get("items")), self._definitions)
        codec = SequenceCodec(item, space)
        return StackedCodec(codec, space) if space.stack else codec

    def _graph(self, space: spaces.Graph, schema: Schema) -> Codec:
        properties = schema.get("properties", {})
        nodes = exact_codec(spaces.Sequence(space.node_space, stack=True), properties.get("nodes"), self._definitions)
        edges: Codec | None = None
        if space.edge_space is not None:
            stacked = spaces.Sequence(space.edge_space, stack=True)
            edges = exact_codec(stacked, properties.get("edges"), self._definitions)
        return GraphCodec(space, _kept(nodes, self._definitions), edges)


def _as_declared(codec: Codec, space: Space[Any]) -> Codec:
    # The declared space itself: an equal one could differ in the order of its keys, which flattening follows.
    codec.space = space
    return codec
