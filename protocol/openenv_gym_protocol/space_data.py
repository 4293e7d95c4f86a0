"""What the data of a space has to be, checked without gymnasium: a server's start finds what its clients would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError, nearest
from openenv_gym_protocol.vector.array_data import ITEM_BYTES
from openenv_gym_protocol.vector.columns import layout_of

REQUIRED_KEYS: dict[str, tuple[str, ...]] = {
    "Box": ("low", "high", "shape"),
    "Discrete": ("n",),
    "MultiDiscrete": ("nvec",),
    "MultiBinary": ("n",),
    "Text": ("max_length",),
    "Dict": ("spaces",),
    "Tuple": ("spaces",),
    "OneOf": ("spaces",),
    "Sequence": ("space",),
    "Graph": ("node_space",),
    "UnicodeText": (),
    "JsonText": (),
    "BoundedSequence": ("space",),
    "Choice": ("spaces",),
}
"""The keys that each type has beside ``type``; ``gymnasium_spaces.register`` adds the types of other packages."""

_DTYPES = frozenset({*ITEM_BYTES, "float128", "longdouble"})


def check_space(data: Any, where: str) -> None:
    """Refuses data that describes no space.

    Args:
        data: The space as data; see ``gymnasium_spaces``.
        where: What errors call it.

    Raises:
        ConfigurationError: The type is unknown, a key is missing, or a value cannot be; the message names the place.
    """
    kind = data.get("type") if isinstance(data, Mapping) else None
    if not isinstance(kind, str):
        raise ConfigurationError(f"{where} describes no space: it has to be a dict with a type, not {data!r:.100}.")
    if kind not in REQUIRED_KEYS:
        raise ConfigurationError(f"{where} is of the unknown type {kind[:40]!r}. {nearest(kind, list(REQUIRED_KEYS))}")
    missing = [key for key in REQUIRED_KEYS[kind] if key not in data]
    if missing:
        raise ConfigurationError(f"{where}, a {kind}, lacks {', '.join(missing)}.")
    dtype = data.get("dtype")
    if dtype is not None and dtype not in _DTYPES:
        raise ConfigurationError(f"{where}, a {kind}, has the unknown dtype {dtype!r:.40}.")
    for name, part in _parts(data, where):
        check_space(part, name)
    if kind in ("Box", "Discrete", "MultiDiscrete", "MultiBinary"):
        _check_bounds(data, where)


def _parts(data: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    held = data.get("spaces", {})
    if isinstance(held, Mapping):
        yield from ((f"{where}.{name}", part) for name, part in held.items())
    elif isinstance(held, list | tuple):
        yield from ((f"{where}[{i}]", part) for i, part in enumerate(held))
    else:
        raise ConfigurationError(f"{where} has spaces that are no dict or list: {held!r:.100}.")
    for key in ("space", "node_space", "edge_space"):
        if data.get(key) is not None:
            yield f"{where}.{key}", data[key]


def _check_bounds(data: Mapping[str, Any], where: str) -> None:
    try:
        layout = layout_of(data)
        bounds = [] if layout is None else layout.bounds()
    except (ConfigurationError, TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(f"{where} is wrong: {error}") from error
    for each in bounds:
        for name, numbers in (("low", each.low), ("high", each.high)):
            if len(numbers) not in (1, each.leaf.elements):
                raise ConfigurationError(
                    f"{where} has a {name} of {len(numbers)} numbers, where one or {each.leaf.elements} belong."
                )
        most = max(len(each.low), len(each.high))
        pairs = (numbers if len(numbers) == most else [numbers[0]] * most for numbers in (each.low, each.high))
        if any(low > high for low, high in zip(*pairs, strict=True)):
            raise ConfigurationError(f"{where} is empty: its least number is greater than its greatest.")
