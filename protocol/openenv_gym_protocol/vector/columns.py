"""Columns: the values of fixed-shape spaces as one little-endian buffer for each leaf.

A packed row is one value of the space: a tuple with the bytes of each leaf. A lane packs its own row where its
environment runs; ``stack`` puts the rows of many lanes together. Values are plain Python (numbers, nested lists,
dicts, tuples) or have numpy arrays for leaves, which are copied without looking at their elements. numpy itself is
used only where it is passed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

from openenv_gym_protocol.errors import (
    ConfigurationError,
    InvalidAction,
    InvalidObservation,
    OpenEnvGymError,
    ProtocolFailure,
)
from openenv_gym_protocol.vector.array_data import ITEM_BYTES, MAX_DIMENSIONS
from openenv_gym_protocol.vector.bounds import Bounds, bounds_of, leaf_spaces
from openenv_gym_protocol.vector.frames import Batch, Column
from openenv_gym_protocol.vector.leaves import Leaf, Misfit, is_numpy

__all__ = ["Layout", "Leaf", "PackedRow", "check_batch", "layout_of", "pack_rewards", "unpack_reward"]

PackedRow: TypeAlias = tuple[bytes, ...]
"""One value of a space: the bytes of each leaf."""

MAX_ROW_BYTES = 2**31
"""The bytes that one leaf of one value may have; no frame could carry more."""

_reward = struct.Struct("<d")

_WHOLE = "(the whole)"
_LEAF_TYPES = frozenset({"Box", "Discrete", "MultiDiscrete", "MultiBinary"})


class Layout:
    """The leaves of a space, in the order of its columns; made by ``layout_of``.

    Attributes:
        leaves: The leaves, depth first.
        row_bytes: The bytes of one value of the space.
        refusal: What a value that does not fit is refused with: InvalidObservation or InvalidAction.
    """

    def __init__(self, space: Mapping[str, Any], leaves: Sequence[Leaf], refusal: type[OpenEnvGymError]) -> None:
        self.leaves = tuple(leaves)
        self.row_bytes = sum(leaf.row_bytes for leaf in leaves)
        self._space = space
        self._has_parts = space["type"] in ("Dict", "Tuple")
        self.refusal = refusal

    def check(self, columns: Sequence[Column], rows: int) -> None:
        """Refuses columns that are not those of so many rows.

        Raises:
            ProtocolFailure: There are not as many as leaves, or one has another size.
        """
        if len(columns) != len(self.leaves):
            raise ProtocolFailure(f"{len(columns)} columns came for a space of {len(self.leaves)} leaves.")
        for leaf, column in zip(self.leaves, columns, strict=True):
            leaf.check(column, rows)

    def pack(self, value: Any) -> PackedRow:
        """Packs one value of the space.

        Raises:
            InvalidObservation: It does not fit the space's shape or dtype; the message names the leaf. Of the layout
                of an action: InvalidAction.
        """
        return self.pack_parts(self.take_apart(value))

    def pack_parts(self, parts: Sequence[Any]) -> PackedRow:
        """Packs what stands at each leaf; same errors as ``pack``."""
        return tuple([self._fitted(leaf, leaf.pack, part) for leaf, part in zip(self.leaves, parts, strict=True)])

    def stack(self, rows: Sequence[PackedRow]) -> list[Column]:
        """Puts packed rows together to columns."""
        return [b"".join([row[i] for row in rows]) for i in range(len(self.leaves))]

    def pack_batch(self, value: Any, rows: int) -> list[Column]:
        """Packs a batch: the space's Dicts and Tuples around numpy arrays of shape ``(rows, *leaf shape)``.

        Raises:
            InvalidObservation: An array has another shape, or a dtype that cannot be cast to the leaf's. Of the
                layout of an action: InvalidAction.
        """
        parts = zip(self.leaves, self.take_apart(value), strict=True)
        return [self._fitted(leaf, leaf.pack_rows, part, rows) for leaf, part in parts]

    def unpack(self, columns: Sequence[Column], rows: int, *, are_checked: bool = False) -> list[Any]:
        """Reads columns as values in plain Python: numbers, nested lists, dicts and tuples.

        Args:
            columns: The columns.
            rows: How many values they hold.
            are_checked: Whether ``check`` has seen them.

        Raises:
            ProtocolFailure: The columns do not have the sizes of so many rows.
        """
        if not are_checked:
            self.check(columns, rows)
        unpacked = [
            leaf.unpack(column) if leaf.elements else [_empty(leaf.shape) for _ in range(rows)]
            for leaf, column in zip(self.leaves, columns, strict=True)
        ]
        if not self._has_parts:
            return unpacked[0]
        return [self.assemble(parts) for parts in zip(*unpacked, strict=True)]

    def arrays(self, columns: Sequence[Column], rows: int, numpy: Any, *, are_checked: bool = False) -> list[Any]:
        """Reads columns as arrays of shape ``(rows, *leaf shape)``, one for each leaf: read-only views of the frame.

        Args:
            columns: The columns.
            rows: How many values they hold.
            numpy: The module.
            are_checked: Whether ``check`` has seen them.

        Raises:
            ProtocolFailure: The columns do not have the sizes of so many rows.
        """
        if not are_checked:
            self.check(columns, rows)
        return [leaf.array(column, rows, numpy) for leaf, column in zip(self.leaves, columns, strict=True)]

    def bounds(self) -> list[Bounds]:
        """The bounds of each leaf."""
        spaces = leaf_spaces(self._space)
        return [bounds_of(space, leaf) for space, leaf in zip(spaces, self.leaves, strict=True)]

    def assemble(self, parts: Iterable[Any]) -> Any:
        """The space's Dicts and Tuples around what stands for each leaf."""
        return _assembled(self._space, iter(parts))

    def take_apart(self, value: Any) -> list[Any]:
        """What stands at each leaf of a value; the inverse of ``assemble``.

        Raises:
            InvalidObservation: A key or an element is missing. Of the layout of an action: InvalidAction.
        """
        parts: list[Any] = []
        try:
            _take_apart(self._space, value, parts, ())
        except Misfit as misfit:
            raise self.refusal(str(misfit)) from None
        return parts

    def _fitted(self, leaf: Leaf, pack: Callable[..., bytes], *arguments: Any) -> bytes:
        try:
            return pack(*arguments)
        except (TypeError, ValueError) as misfit:
            # Besides our Misfit: what numpy says of objects that are no numbers.
            raise self.refusal(f"The value {leaf.name or _WHOLE} does not fit: {misfit}.") from None


def layout_of(space: Mapping[str, Any], *, of_action: bool = False) -> Layout | None:
    """The layout of a space.

    Args:
        space: The space as data; see ``gymnasium_spaces``.
        of_action: Whether values that do not fit are refused as actions rather than as observations.

    Returns:
        The layout, or None where a part of the space is of no fixed shape, or of a dtype that does not travel.

    Raises:
        ConfigurationError: The data describes no space, or one whose values have more than ``MAX_ROW_BYTES``.
    """
    leaves: list[Leaf] = []
    try:
        is_fixed = _collect(space, (), leaves)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"The data of a space is wrong: {type(error).__name__}: {error}") from error
    return Layout(space, leaves, InvalidAction if of_action else InvalidObservation) if is_fixed else None


def check_batch(batch: Batch, layout: Layout | None, rows: int) -> None:
    """Refuses a batch that is not in the form that ``opened`` said: columns with a layout, values without.

    Raises:
        ProtocolFailure: It is not, or has not so many rows.
    """
    if (batch.columns is None) != (layout is None):
        asked = "values" if layout is None else "columns"
        raise ProtocolFailure(f"A batch came in another form than {asked}, which were agreed on.")
    if layout is not None and batch.columns is not None:
        layout.check(batch.columns, rows)
    elif batch.values is not None and len(batch.values) != rows:
        raise ProtocolFailure(f"A batch of {len(batch.values)} values came for {rows} rows.")


def pack_rewards(rewards: Sequence[float]) -> bytes:
    """Rewards as they travel: float64, little-endian."""
    if len(rewards) == 1:
        return _reward.pack(rewards[0])
    return struct.pack(f"<{len(rewards)}d", *rewards)


def unpack_reward(data: Column, row: int) -> float:
    """Reads one of those that ``pack_rewards`` wrote."""
    reward: float = _reward.unpack_from(data, row * _reward.size)[0]
    return reward


def _collect(space: Mapping[str, Any], path: tuple[str | int, ...], leaves: list[Leaf]) -> bool:
    kind = space["type"]
    if kind == "Dict":
        return all([_collect(part, (*path, key), leaves) for key, part in space["spaces"].items()])
    if kind == "Tuple":
        return all([_collect(part, (*path, i), leaves) for i, part in enumerate(space["spaces"])])
    if kind not in _LEAF_TYPES:
        return False
    default = {"Box": "float32", "MultiBinary": "int8"}.get(kind, "int64")
    # A MultiBinary has no dtype in its data; whatever stands there is not heeded.
    dtype = default if kind == "MultiBinary" else space.get("dtype", default)
    if dtype not in ITEM_BYTES:
        return False
    shape = _checked_shape(_shape(kind, space), dtype)
    leaves.append(Leaf(path, dtype, shape, is_number=kind == "Discrete"))
    return True


def _shape(kind: str, space: Mapping[str, Any]) -> tuple[int, ...]:
    if kind == "Box":
        return tuple(space["shape"])
    if kind == "MultiDiscrete":
        return _shape_of_lists(space["nvec"])
    if kind == "MultiBinary":
        return (space["n"],) if isinstance(space["n"], int) else tuple(space["n"])
    return ()


def _shape_of_lists(values: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(values, list | tuple):
        shape.append(len(values))
        values = values[0] if values else None
    return tuple(shape)


def _checked_shape(shape: tuple[int, ...], dtype: str) -> tuple[int, ...]:
    if len(shape) > MAX_DIMENSIONS or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"{shape[:MAX_DIMENSIONS]} is no shape")
    if prod(length or 1 for length in shape) * ITEM_BYTES[dtype] > MAX_ROW_BYTES:
        raise ValueError(f"a value of shape {shape} has more than {MAX_ROW_BYTES} bytes")
    return shape


def _assembled(space: Mapping[str, Any], parts: Any) -> Any:
    if space["type"] == "Dict":
        return {key: _assembled(part, parts) for key, part in space["spaces"].items()}
    if space["type"] == "Tuple":
        return tuple(_assembled(part, parts) for part in space["spaces"])
    return next(parts)


def _take_apart(space: Mapping[str, Any], value: Any, parts: list[Any], path: tuple[str | int, ...]) -> None:
    if space["type"] == "Dict":
        if not isinstance(value, Mapping):
            raise Misfit(f"The value {_where(path)} is no dict.")
        for key, part in space["spaces"].items():
            if key not in value:
                raise Misfit(f"The key {key!r} of the value {_where(path)} is missing.")
            _take_apart(part, value[key], parts, (*path, key))
    elif space["type"] == "Tuple":
        # A numpy array is as good as a list of its elements.
        if not (isinstance(value, list | tuple) or is_numpy(value)) or len(value) != len(space["spaces"]):
            raise Misfit(f"The value {_where(path)} is no tuple of {len(space['spaces'])} elements.")
        for i, part in enumerate(space["spaces"]):
            _take_apart(part, value[i], parts, (*path, i))
    else:
        parts.append(value)


def _where(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path)) or _WHOLE


def _empty(shape: tuple[int, ...]) -> list[Any]:
    return [] if len(shape) == 1 else [_empty(shape[1:]) for _ in range(shape[0])]
