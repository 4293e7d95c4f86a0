"""Values of spaces as JSON: how they look, how they are written and how they are read."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector.utils import iterate
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
        case spaces.OneOf():
            return {"type": "array", "minItems": 2, "maxItems": 2, "description": "The index of a space and its value"}
    raise _unsupported(space)


def writer_of(space: Space[Any], *, arrays: bool = False) -> Convert:
    """What turns a space's values into plain ones.

    Args:
        space: The space.
        arrays: Whether arrays stay arrays, for who writes them as bytes or lists later.
    """
    match space:
        case spaces.Discrete():
            return int
        case spaces.Box() if has_pixels(space):
            return lambda value: base64.b64encode(np.asarray(value, np.uint8).tobytes()).decode("ascii")
        case spaces.Box() | spaces.MultiDiscrete() | spaces.MultiBinary():
            dtype = space.dtype
            return lambda value: np.asarray(value, dtype) if arrays else np.asarray(value, dtype).tolist()
        case spaces.Text():
            return str
        case spaces.Tuple():
            parts = [writer_of(part, arrays=arrays) for part in space.spaces]
            return lambda value: [write(item) for write, item in zip(parts, value, strict=True)]
        case spaces.Dict():
            named = {name: writer_of(part, arrays=arrays) for name, part in space.spaces.items()}
            return lambda value: {name: write(value[name]) for name, write in named.items()}
        case spaces.Sequence():
            item = writer_of(space.feature_space, arrays=arrays)
            stacked = space.stacked_feature_space if space.stack else None
            return lambda value: [item(row) for row in (value if stacked is None else iterate(stacked, value))]
        case spaces.OneOf():
            branches = [writer_of(part, arrays=arrays) for part in space.spaces]
            return lambda value: [int(value[0]), branches[int(value[0])](value[1])]
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
        case spaces.Sequence() if not space.stack:
            item = _builder(space.feature_space)
            return lambda payload: tuple(item(row) for row in payload)
        case spaces.OneOf():
            branches = [_builder(part) for part in space.spaces]
            return lambda payload: (np.int64(payload[0]), branches[payload[0]](payload[1]))
    raise _unsupported(space)


def _whole(payload: Any) -> int:
    if isinstance(payload, bool) or not isinstance(payload, int | np.integer):
        raise ValueError(f"{payload!r:.80} is no integer")
    return int(payload)


def _array(payload: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.asarray(payload)
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
