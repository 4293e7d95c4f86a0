"""Gymnasium spaces as plain data, and back.

The data is JSON: a server without gymnasium writes it by hand, ``/schema`` carries it, the catalogue keeps it.
Each space is an object with a ``type``:

======================  =================================================================================
``{"type": "Box"``      ``low``, ``high``: a number for every element, or nested lists of ``shape``;
                        ``shape``: list of int; ``dtype``: numpy's name (default ``"float32"``)
``{"type": "Discrete"`` ``n``; ``start`` (default 0); ``dtype`` (default ``"int64"``)
``"MultiDiscrete"``     ``nvec``: (nested) list of int; ``start`` (default zeros); ``dtype`` (default ``"int64"``)
``"MultiBinary"``       ``n``: int or list of int
``"Text"``              ``max_length``; ``min_length`` (default 1); ``charset``: a string (default alphanumeric)
``"Dict"``              ``spaces``: object of spaces; their order is kept
``"Tuple"``             ``spaces``: list of spaces
``"Sequence"``          ``space``; ``stack`` (default false)
``"OneOf"``             ``spaces``: list of spaces
``"Graph"``             ``node_space``; ``edge_space``: a space or null
======================  =================================================================================

Numbers that JSON has no form for are written as the strings ``"inf"``, ``"-inf"`` and ``"nan"``.
Spaces of other packages join by ``register``: ``openenv_gym.bridge.spaces`` adds ``UnicodeText``, ``JsonText``,
``BoundedSequence`` and ``Choice``. This module alone of its package needs gymnasium.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from gymnasium.spaces.text import alphanumeric

from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.json_codec import MAX_FRAME_BYTES
from openenv_gym_protocol.space_data import REQUIRED_KEYS

SpaceData: TypeAlias = dict[str, Any]
"""A space as JSON: an object with a ``type``."""

MAX_ELEMENTS = MAX_FRAME_BYTES
"""The elements that one leaf of a space may have; no frame could carry a value of more."""

_Writer: TypeAlias = Callable[[Any], SpaceData]
_Reader: TypeAlias = Callable[[Mapping[str, Any]], "Space[Any]"]


def space_to_data(space: Space[Any]) -> SpaceData:
    """Writes a space as data.

    Raises:
        ConfigurationError: The space's class is not one of the table, nor registered.
    """
    form = _FORMS_BY_CLASS.get(type(space))
    if form is None:
        raise ConfigurationError(
            f"A space of type {type(space).__qualname__} has no form as data. Known: {', '.join(sorted(_READERS))}."
        )
    name, write = form
    return {"type": name, **write(space)}


def data_to_space(data: Mapping[str, Any]) -> Space[Any]:
    """Builds the space that the data describes.

    Raises:
        ConfigurationError: The type is unknown, a key is missing, or gymnasium refuses a value.
    """
    kind = data.get("type") if isinstance(data, Mapping) else None
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise ConfigurationError(f"{data!r} describes no space. Known types: {', '.join(sorted(_READERS))}.")
    try:
        return read(data)
    except KeyError as error:
        raise ConfigurationError(f"The data of a {kind} space lacks {error}: {data!r}.") from error
    except (AssertionError, AttributeError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise ConfigurationError(f"The data of a {kind} space is wrong: {error}") from error


def register(name: str, space_class: type[Space[Any]], write: _Writer, read: _Reader) -> None:
    """Adds a type of space.

    Args:
        name: Its ``type`` in the data.
        space_class: The class whose own instances, not a subclass's, are written under that name.
        write: Gives the keys besides ``type``.
        read: Builds the space from the whole object.
    """
    REQUIRED_KEYS.setdefault(name, ())
    _FORMS_BY_CLASS[space_class] = (name, write)
    _READERS[name] = read


def _write_numbers(values: Any) -> Any:
    """Nested lists, or one number where all elements are equal."""
    array = np.asarray(values)
    first = array.flat[0] if array.size else array.dtype.type(0)
    same = bool((array == first).all()) or (array.dtype.kind == "f" and bool(np.isnan(array).all()))
    return _plain(first.item() if same else array.tolist())


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def _numbers(value: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """The inverse of ``_write_numbers``; integers keep all their bits."""
    whole = np.issubdtype(dtype, np.integer)
    array = np.array(value, dtype=dtype if whole else np.float64)
    return np.broadcast_to(array, shape).astype(dtype)


def _write_box(space: spaces.Box) -> SpaceData:
    return {
        "low": _write_numbers(space.low),
        "high": _write_numbers(space.high),
        "shape": list(space.shape),
        "dtype": str(space.dtype),
    }


def _checked_shape(lengths: Iterable[Any]) -> tuple[int, ...]:
    """A shape, before anything of its size is made."""
    shape = tuple(int(length) for length in lengths)
    if math.prod(shape) > MAX_ELEMENTS:
        raise ValueError(f"a value of shape {shape} has more than {MAX_ELEMENTS} elements")
    return shape


def _read_box(data: Mapping[str, Any]) -> spaces.Box:
    dtype = np.dtype(data.get("dtype", "float32"))
    shape = _checked_shape(data["shape"])
    return spaces.Box(
        _numbers(data["low"], dtype, shape), _numbers(data["high"], dtype, shape), shape=shape, dtype=dtype.type
    )


def _write_discrete(space: spaces.Discrete) -> SpaceData:
    return {"n": int(space.n), "start": int(space.start), "dtype": str(space.dtype)}


def _read_discrete(data: Mapping[str, Any]) -> spaces.Discrete:
    # The dtype is passed only when it is not the default: gymnasium 1.1 has no such argument.
    named = {} if data.get("dtype", "int64") == "int64" else {"dtype": np.dtype(data["dtype"]).type}
    return spaces.Discrete(int(data["n"]), start=int(data.get("start", 0)), **named)


def _write_multi_discrete(space: spaces.MultiDiscrete) -> SpaceData:
    return {"nvec": space.nvec.tolist(), "start": space.start.tolist(), "dtype": str(space.dtype)}


def _read_multi_discrete(data: Mapping[str, Any]) -> spaces.MultiDiscrete:
    dtype = np.dtype(data.get("dtype", "int64"))
    start = None if data.get("start") is None else np.array(data["start"], dtype=dtype)
    return spaces.MultiDiscrete(np.array(data["nvec"], dtype=dtype), dtype=dtype.type, start=start)


def _write_multi_binary(space: spaces.MultiBinary) -> SpaceData:
    return {"n": int(space.n) if isinstance(space.n, int | np.integer) else [int(length) for length in space.n]}


def _read_multi_binary(data: Mapping[str, Any]) -> spaces.MultiBinary:
    count = data["n"]
    _checked_shape([count] if isinstance(count, int) else count)
    return spaces.MultiBinary(count)


def _write_text(space: spaces.Text) -> SpaceData:
    charset = {} if space.character_set == alphanumeric else {"charset": "".join(space.character_list)}
    return {"max_length": space.max_length, "min_length": space.min_length, **charset}


def _read_text(data: Mapping[str, Any]) -> spaces.Text:
    return spaces.Text(
        int(data["max_length"]),
        min_length=int(data.get("min_length", 1)),
        charset=data.get("charset") or alphanumeric,
    )


def _write_parts(space: spaces.Tuple[Any] | spaces.OneOf[Any]) -> SpaceData:
    return {"spaces": [space_to_data(part) for part in space.spaces]}


def _write_dict(space: spaces.Dict) -> SpaceData:
    return {"spaces": {key: space_to_data(part) for key, part in space.spaces.items()}}


def _read_dict(data: Mapping[str, Any]) -> spaces.Dict:
    # An OrderedDict keeps the order that flattening depends on; a plain dict would be sorted.
    return spaces.Dict(OrderedDict((key, data_to_space(part)) for key, part in data["spaces"].items()))


def _write_sequence(space: spaces.Sequence) -> SpaceData:
    return {"space": space_to_data(space.feature_space), "stack": space.stack}


def _write_graph(space: spaces.Graph) -> SpaceData:
    edges = None if space.edge_space is None else space_to_data(space.edge_space)
    return {"node_space": space_to_data(space.node_space), "edge_space": edges}


def _read_graph(data: Mapping[str, Any]) -> spaces.Graph:
    edges = data.get("edge_space")
    nodes: Any = data_to_space(data["node_space"])
    return spaces.Graph(nodes, None if edges is None else data_to_space(edges))


_FORMS_BY_CLASS: dict[type[Space[Any]], tuple[str, _Writer]] = {}
_READERS: dict[str, _Reader] = {}

register("Box", spaces.Box, _write_box, _read_box)
register("Discrete", spaces.Discrete, _write_discrete, _read_discrete)
register("MultiDiscrete", spaces.MultiDiscrete, _write_multi_discrete, _read_multi_discrete)
register("MultiBinary", spaces.MultiBinary, _write_multi_binary, _read_multi_binary)
register("Text", spaces.Text, _write_text, _read_text)
register("Dict", spaces.Dict, _write_dict, _read_dict)
register("Tuple", spaces.Tuple, _write_parts, lambda data: spaces.Tuple([data_to_space(s) for s in data["spaces"]]))
register("OneOf", spaces.OneOf, _write_parts, lambda data: spaces.OneOf([data_to_space(s) for s in data["spaces"]]))
register(
    "Sequence",
    spaces.Sequence,
    _write_sequence,
    lambda data: spaces.Sequence(data_to_space(data["space"]), stack=bool(data.get("stack", False))),
)
register("Graph", spaces.Graph, _write_graph, _read_graph)
