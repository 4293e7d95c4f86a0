"""Values of spaces as JSON: how they look, how they are written and how they are read."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from gymnasium.spaces.graph import GraphInstance
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray
from openenv_gym_protocol.errors import ConfigurationError

Convert: TypeAlias = Callable[[Any], Any]


def has_pixels(space: Space[Any]) -> bool:
    """Whether values of a space are pictures, which travel as raw bytes in base64."""
    return isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) > 1


def schema_of(space: Space[Any], *, pixels: bool) -> dict[str, Any]:
    """The JSON Schema of a space's values.

    Args:
        space: The space.
        pixels: Whether pictures are written in base64.
    """
    match space:
        case spaces.Discrete():
            return {"type": "integer", "minimum": int(space.start), "maximum": int(space.start + space.n - 1)}
        case spaces.Box() if pixels and has_pixels(space):
            shape = list(space.shape)
            return {"type": "string", "contentEncoding": "base64", "description": f"Raw bytes of shape {shape}"}
        case spaces.Box():
            kinds = {"b": "boolean", "f": "number"}
            return _nested({"type": kinds.get(np.dtype(space.dtype).kind, "integer")}, space.shape)
        case spaces.MultiDiscrete() | spaces.MultiBinary():
            return _nested({"type": "integer"}, space.shape)
        case spaces.Text():
            return {"type": "string", "minLength": space.min_length, "maxLength": space.max_length}
        case spaces.Tuple():
            parts = [schema_of(part, pixels=pixels) for part in space.spaces]
            return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
        case spaces.Dict():
            named = {name: schema_of(part, pixels=pixels) for name, part in space.spaces.items()}
            return {"type": "object", "properties": named, "required": list(named)}
        case spaces.Sequence():
            return {"type": "array", "items": schema_of(space.feature_space, pixels=pixels)}
    return _rare_schema(space, pixels=pixels)


def writer_of(space: Space[Any], *, arrays: bool = False, pixels: bool = False) -> Convert:
    """What turns a space's values into plain ones.

    Args:
        space: The space.
        arrays: Whether arrays stay arrays, for who writes them as bytes or lists later.
        pixels: Whether pictures of fixed-shape spaces stay arrays too, rather than base64.
    """
    match space:
        case spaces.Discrete():
            return int
        case spaces.Box() if has_pixels(space) and not pixels:
            return lambda value: base64.b64encode(np.asarray(value, np.uint8).tobytes()).decode("ascii")
        case spaces.Box() | spaces.MultiDiscrete() | spaces.MultiBinary():
            dtype = space.dtype
            return lambda value: np.asarray(value, dtype) if arrays else np.asarray(value, dtype).tolist()
        case spaces.Text():
            return str
        case spaces.Tuple():
            parts = [writer_of(part, arrays=arrays, pixels=pixels) for part in space.spaces]
            return lambda value: [write(item) for write, item in zip(parts, value, strict=True)]
        case spaces.Dict():
            named = {name: writer_of(part, arrays=arrays, pixels=pixels) for name, part in space.spaces.items()}
            return lambda value: {name: write(value[name]) for name, write in named.items()}
        case spaces.Sequence():
            return _rows_writer(space.feature_space, arrays=arrays, stack=space.stack)
        case spaces.OneOf():
            branches = [writer_of(part, arrays=arrays) for part in space.spaces]
            return lambda value: [int(value[0]), branches[int(value[0])](value[1])]
        case spaces.Graph():
            return _graph_writer(space, arrays=arrays)
    raise _unsupported(space)


def reader_of(space: Space[Any]) -> Convert:
    """What turns plain values into a space's; it raises ValueError for whatever is none."""
    build = _builder(space)

    def read(payload: Any) -> Any:
        try:
            value = build(payload)
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
            raise ValueError(f"{payload!r:.80} is no value of {space}") from error
        if not space.contains(value):
            raise ValueError(f"{payload!r:.80} is outside {space}")
        return value

    return read


def _builder(space: Space[Any]) -> Convert:
    match space:
        case spaces.Discrete():
            return _whole
        case spaces.Box() | spaces.MultiDiscrete() | spaces.MultiBinary():
            dtype, shape = np.dtype(space.dtype), space.shape
            return lambda payload: _array(payload, dtype, shape)
        case spaces.Text():
            return lambda payload: payload
        case spaces.Tuple():
            parts = [_builder(part) for part in space.spaces]
            return lambda payload: tuple(build(item) for build, item in zip(parts, payload, strict=True))
        case spaces.Dict():
            named = {name: _builder(part) for name, part in space.spaces.items()}
            return lambda payload: {name: named[name](item) for name, item in payload.items()}
        case spaces.Sequence() if space.stack:
            return _stacked(space.feature_space)
        case spaces.Sequence():
            item = _builder(space.feature_space)
            return lambda payload: tuple(item(row) for row in payload)
        case spaces.OneOf():
            branches = [_builder(part) for part in space.spaces]
            return lambda payload: (np.int64(payload[0]), branches[payload[0]](payload[1]))
        case spaces.Graph():
            return _graph_builder(space)
    raise _unsupported(space)


def _rare_schema(space: Space[Any], *, pixels: bool) -> dict[str, Any]:
    match space:
        case spaces.OneOf():
            forms = [
                {"prefixItems": [{"const": i}, schema_of(part, pixels=pixels)], "minItems": 2, "maxItems": 2}
                for i, part in enumerate(space.spaces)
            ]
            return {"type": "array", "oneOf": forms, "description": "The index of a space and its value"}
        case spaces.Graph():
            return _graph_schema(space, pixels=pixels)
    raise _unsupported(space)


def _graph_schema(space: spaces.Graph, *, pixels: bool) -> dict[str, Any]:
    nodes = {"type": "array", "items": schema_of(space.node_space, pixels=pixels)}
    edges: dict[str, Any] = {"type": "null"}
    links: dict[str, Any] = {"type": "null"}
    if space.edge_space is not None:
        edges = {"type": ["array", "null"], "items": schema_of(space.edge_space, pixels=pixels)}
        pair = _nested({"type": "integer", "minimum": 0}, (2,))
        links = {"type": ["array", "null"], "items": pair, "description": "The two nodes of each edge"}
    parts = {"nodes": nodes, "edges": edges, "edge_links": links}
    return {"type": "object", "properties": parts, "required": list(parts)}


def _graph_writer(space: spaces.Graph, *, arrays: bool) -> Convert:
    nodes = _rows_writer(space.node_space, arrays=arrays)
    edges = None if space.edge_space is None else _rows_writer(space.edge_space, arrays=arrays)

    def write(value: GraphInstance) -> dict[str, Any]:
        told, links = None, None
        if edges is not None and value.edges is not None and value.edge_links is not None:
            told, links = edges(value.edges), value.edge_links if arrays else value.edge_links.tolist()
        return {"nodes": nodes(value.nodes), "edges": told, "edge_links": links}

    return write


def _rows_writer(space: Space[Any], *, arrays: bool, stack: bool = True) -> Convert:
    item, stacked = writer_of(space, arrays=arrays), batch_space(space, 1) if stack else None
    return lambda value: [item(row) for row in (value if stacked is None else iterate(stacked, value))]


def _graph_builder(space: spaces.Graph) -> Convert:
    nodes = _stacked(space.node_space)
    edges = None if space.edge_space is None else _stacked(space.edge_space)

    def build(payload: Any) -> GraphInstance:
        told, links = payload.get("edges"), payload.get("edge_links")
        if told is None and links is None:
            return GraphInstance(nodes(payload["nodes"]), None, None)
        if edges is None:
            raise ValueError(f"{payload!r:.80} is no graph without edges")
        return GraphInstance(nodes(payload["nodes"]), edges(told), _array(links, np.dtype(np.int32), (len(told), 2)))

    return build


def _stacked(space: Space[Any]) -> Convert:
    item = _builder(space)

    def build(payload: Any) -> Any:
        if isinstance(payload, dict | str):
            raise ValueError(f"{payload!r:.80} is no list")
        rows: Any = create_empty_array(space, len(payload))
        # Gymnasium's own concatenation refuses to join nothing.
        return concatenate(space, [item(row) for row in payload], rows) if len(payload) else rows

    return build


def _whole(payload: Any) -> int:
    if isinstance(payload, bool) or not isinstance(payload, int | np.integer):
        raise ValueError(f"{payload!r:.80} is no integer")
    return int(payload)


def _array(payload: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.asarray(payload)
    if array.size == 0 and 0 in shape:
        return np.zeros(shape, dtype)  # lists of no rows do not say how long a row is
    if array.dtype.kind not in "biuf" or (array.dtype.kind == "b") != (dtype.kind == "b"):
        raise ValueError(f"{payload!r:.80} is no array of numbers")
    if array.shape != shape:
        if array.size != 1 or np.prod(shape) != 1:
            raise ValueError(f"its shape is {array.shape}, not {shape}")
        array = array.reshape(shape)
    cast = array.astype(dtype)
    if dtype.kind != "f" and not (cast == array).all():
        raise ValueError(f"{payload!r:.80} cannot be {dtype}")
    return cast


def _nested(item: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    for length in reversed(shape):
        item = {"type": "array", "items": item, "minItems": length, "maxItems": length}
    return item


def _unsupported(space: Space[Any]) -> ConfigurationError:
    return ConfigurationError(f"The space {space} of type {type(space).__qualname__} has no form as JSON.")
