"""Actions and observations of the vector wire: columns and values, to and from what trainers see.

Columns hold values of the space that the server declares. Where that is the space that the trainer sees, they are its
arrays; in the flat view each row takes the way of the standard wire, through its payload and the codecs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray
from openenv_gym_protocol.errors import InvalidAction, InvalidObservation, OpenEnvGymError, ProtocolFailure
from openenv_gym_protocol.gymnasium_spaces import data_to_space
from openenv_gym_protocol.json_codec import MAX_FRAME_BYTES
from openenv_gym_protocol.json_schema import combined
from openenv_gym_protocol.root_field import ACTION_KEYS, OBSERVATION_KEYS
from openenv_gym_protocol.vector.array_data import ITEM_BYTES, ArrayData, are_all, arrays_replaced, little_endian
from openenv_gym_protocol.vector.columns import PackedRow, check_batch
from openenv_gym_protocol.vector.frames import Batch, Opened
from openenv_gym_protocol.vector.payloads import PayloadColumns, payload_columns

from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.observations import ArrayForm, Leaves, array_form
from openenv_gym.bridge.step_batch import encode_action

IDLE: Any = object()
"""The action of a lane that needs none. None is what a user may have given by mistake."""


class ActionWriter:
    """Writes the actions of lanes.

    Args:
        interface: How one action is written and checked.
        opened: The form that the server asked for.
        limit: The bytes of the largest frame.

    Raises:
        ProtocolFailure: The server asks for columns of a space that it does not state, or of which no frame holds a
            value.
    """

    def __init__(self, interface: Interface, opened: Opened, limit: int = MAX_FRAME_BYTES) -> None:
        self._interface = interface
        self._columns: PayloadColumns | None = None
        self._bounds: tuple[Any, Any] | None = None
        if opened.action_columns:
            schema = interface.schemas.action
            self._columns = _columns(opened.action_space, schema, ACTION_KEYS, limit, of_action=True)
            leaves = self._columns.layout.leaves
            self._idle: PackedRow = tuple(bytes(leaf.row_bytes) for leaf in leaves)
            if len(leaves) == 1 and not leaves[0].path and _is(opened.action_space, interface.action_space):
                self._bounds = _bounds(interface.action_space)
                self._kinds = "iuf" if leaves[0].dtype.startswith("float") else "iu"

    def write(self, actions: Mapping[int, Any]) -> list[Any] | NDArray[Any]:
        """Writes an action for each lane, and one that is not looked at for each that is IDLE.

        Raises:
            InvalidAction: One is outside its space; the error names the lane.
        """
        array = self._array(actions.values())
        if array is not None:
            return array
        return [self._idle_row() if action is IDLE else self._row(lane, action) for lane, action in actions.items()]

    def write_array(self, actions: NDArray[Any], idle: Sequence[int]) -> NDArray[Any] | None:
        """Writes an array with a row for each lane at once, into a new one.

        Args:
            actions: The rows.
            idle: The rows that are not looked at.

        Returns:
            What was written; None where each has to be looked at for itself.
        """
        if self._bounds is None or self._columns is None:
            return None
        (leaf,) = self._columns.layout.leaves
        if actions.dtype.kind not in self._kinds or actions.shape[1:] != leaf.shape:
            return None
        inside = _inside(actions, self._bounds)
        if idle:
            inside[idle] = True
        if not are_all(inside):
            return None
        array = actions.astype(leaf.dtype)
        if idle:
            array[idle] = 0
        return array

    def batch(self, written: list[Any] | NDArray[Any]) -> Batch:
        """Puts written actions together."""
        if isinstance(written, np.ndarray):
            return Batch(columns=[little_endian(written)])
        if self._columns is None:
            return Batch(values=written)
        return Batch(columns=self._columns.layout.stack(written))

    def _array(self, actions: Iterable[Any]) -> NDArray[Any] | None:
        """All actions at once, where each is plainly inside; None: each is looked at for itself."""
        if self._bounds is None:
            return None
        try:
            array = np.asarray([self._bounds[0] if action is IDLE else action for action in actions])
        except ValueError:
            return None  # of different shapes
        return self.write_array(array, ())

    def _row(self, lane: int, action: Any) -> Any:
        payload = encode_action(self._interface, lane, action)
        return payload if self._columns is None else self._columns.pack(payload)

    def _idle_row(self) -> Any:
        return {} if self._columns is None else self._idle


class ObservationReader:
    """Reads the observations of lanes.

    Args:
        interface: How one observation is read and checked.
        opened: The form that the server gave.
        limit: The bytes of the largest frame.

    Raises:
        ProtocolFailure: The server gives columns of a space that it does not state, or of which no frame holds a value.
    """

    def __init__(self, interface: Interface, opened: Opened, limit: int = MAX_FRAME_BYTES) -> None:
        self._interface = interface
        self._columns: PayloadColumns | None = None
        self._form: ArrayForm | None = None
        self._bounds: dict[tuple[str | int, ...], tuple[Any, Any] | None] | None = None
        """Of the leaves whose dtype holds numbers that are outside the space; None where the columns are no such
        leaves of what the trainer sees. None in place of bounds that nothing but NaN is outside of."""
        if not opened.observation_columns:
            return
        schema = combined(interface.schemas.observation, interface.schemas.reset_observation)
        self._columns = _columns(opened.observation_space, schema, OBSERVATION_KEYS, limit, of_action=False)
        seen = interface.observation_space
        if _is(opened.observation_space, seen):
            bounds = self._columns.layout.bounds()
            paths = [each.leaf.path for each in bounds if not each.are_those_of_the_dtype]
            self._bounds = {path: _unless_endless(_bounds(reduce(_part, path, seen))) for path in paths}

    def row(self, leaves: Leaves, row: int) -> Any:
        """The value in one row of the arrays, of new objects throughout."""
        if self._form is None:
            self._form = array_form(self._interface.observation_space)
        assert self._form is not None  # only spaces of fixed shape come as arrays
        return self._form.value(leaves, row)

    def leaves(self, batch: Batch, rows: int) -> Leaves | None:
        """The observations as read-only arrays, one for each leaf; None where they have to be read row by row.

        Raises:
            ProtocolFailure: The batch is not what the server said that it would send.
        """
        if self._columns is None or self._bounds is None or batch.columns is None:
            check_batch(batch, None if self._columns is None else self._columns.layout, rows)
            return None
        layout = self._columns.layout
        arrays = layout.arrays(batch.columns, rows, np)
        return {leaf.path: array for leaf, array in zip(layout.leaves, arrays, strict=True)}

    def outside(self, leaves: Leaves) -> list[int]:
        """The rows that have a value outside the space."""
        assert self._bounds is not None  # leaves() returned them
        bad: set[int] = set()
        for path, bounds in self._bounds.items():
            inside = _inside(leaves[path], bounds)
            if not are_all(inside):
                bad.update(np.flatnonzero(~inside.reshape(len(inside), -1).all(axis=1)).tolist())
        return sorted(bad)

    def values(self, batch: Batch, rows: Sequence[int], count: int) -> list[Any]:
        """Reads some of the rows one by one.

        Returns:
            The value of each, or the OpenEnvGymError that says why it cannot be read.
        """
        if self._columns is None:
            payloads: Sequence[Any] = [plain(batch.values[row]) for row in rows] if batch.values else []
        else:
            unpacked = self._columns.layout.unpack(batch.columns or (), count)
            payloads = [self._payload(self._columns, unpacked[row]) for row in rows]
        return [self._read(payload) for payload in payloads]

    def _payload(self, columns: PayloadColumns, value: Any) -> Any:
        try:
            return columns.payload(value)
        except InvalidAction as error:
            return InvalidObservation(error.message.replace("action", "server's observation", 1))

    def _read(self, payload: Any) -> Any:
        if isinstance(payload, OpenEnvGymError):
            return payload
        try:
            return self._interface.decode_observation(payload)
        except InvalidObservation as error:
            return error


def plain(value: Any) -> Any:
    """The same value with nested lists in place of arrays, as the standard wire has them."""
    return arrays_replaced(value, lambda array: array_of(array).tolist())


def with_arrays(value: Any) -> Any:
    """The same value with arrays of numpy's, of the dtype that the server gave them."""
    return arrays_replaced(value, array_of)


def array_of(data: ArrayData) -> NDArray[Any]:
    """An array that came inside a value, as a new array of numpy's."""
    dtype = np.dtype(data.dtype)
    return np.frombuffer(data.data, dtype.newbyteorder("<")).reshape(data.shape).astype(dtype)


def _columns(
    space: dict[str, Any] | None, schema: Any, reserved: frozenset[str], limit: int, *, of_action: bool
) -> PayloadColumns:
    columns = None if space is None else payload_columns(space, schema, reserved, of_action=of_action)
    if columns is None:
        raise ProtocolFailure("The server speaks of columns, but states no space of fixed shape.")
    # Before anything is made of its size; lengths beside a 0 are counted too, as lists have them.
    sizes = [prod(length or 1 for length in leaf.shape) * ITEM_BYTES[leaf.dtype] for leaf in columns.layout.leaves]
    if sum(sizes) > limit:
        raise ProtocolFailure(f"The server states a space of which one value is larger than a frame of {limit} bytes.")
    return columns


def _is(declared: dict[str, Any] | None, seen: Space[Any]) -> bool:
    """Whether the trainer sees the space that the server declares; otherwise a view of it."""
    return declared is not None and data_to_space(declared) == seen


def _part(space: Space[Any], key: str | int) -> Space[Any]:
    if isinstance(space, spaces.Dict | spaces.Tuple):
        part: Space[Any] = space.spaces[key]  # type: ignore[index]  # a name for a Dict, a place for a Tuple
        return part
    raise ProtocolFailure(f"The server's columns have a part {key!r} that {space} has not.")


def _inside(array: NDArray[Any], bounds: tuple[Any, Any] | None) -> NDArray[np.bool_]:
    # Written so that NaN is outside too.
    inside: NDArray[np.bool_]
    inside = array == array if bounds is None else (array >= bounds[0]) & (array <= bounds[1])
    return inside


def _bounds(space: Space[Any]) -> tuple[Any, Any]:
    return tuple(map(_one_if_equal, _lists_of_bounds(space)))


def _unless_endless(bounds: tuple[Any, Any]) -> tuple[Any, Any] | None:
    low, high = bounds
    return None if np.all(low == -np.inf) and np.all(high == np.inf) else bounds


def _one_if_equal(numbers: Any) -> Any:
    """One number in place of an array of equal ones, which takes longer to compare with."""
    array = np.asarray(numbers)
    return array.flat[0].reshape(()) if array.size and (array == array.flat[0]).all() else array


def _lists_of_bounds(space: Space[Any]) -> tuple[Any, Any]:
    if isinstance(space, spaces.Box):
        return space.low, space.high
    if isinstance(space, spaces.Discrete):
        return space.start, space.start + space.n - 1
    if isinstance(space, spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    return 0, 1
