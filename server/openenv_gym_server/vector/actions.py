"""The actions of a step request, in the forms in which environments of one lane each take them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from openenv_gym_protocol.errors import InvalidAction
from openenv_gym_protocol.vector.frames import Batch
from openenv_gym_protocol.vector.payloads import PayloadColumns

from openenv_gym_server.vector.values import plain


class LaneActions:
    """Reads each action; what can be done for all of them at once is done once.

    Lanes on several threads may ask at once: then each of them does that.

    Args:
        batch: The actions as they came, checked.
        rows: How many.
        columns: How they belong to the fields of the action's model; None where they came as values.

    Attributes:
        known: What ``fields`` returns for each, once it was asked, where that can be said of all at once.
        ready: What ``value`` returns for each, once it was asked and all actions are inside their space.
    """

    def __init__(self, batch: Batch, rows: int, columns: PayloadColumns | None) -> None:
        self._columns = columns
        self._came = batch.columns or ()
        self._rows = rows
        self._plain = batch.values
        self.known: list[dict[str, Any]] | None = None
        self._is_looked_at = columns is None
        self.ready: Sequence[Any] | None = None
        self._values: Sequence[Any] | None = None
        self._are_inside = False

    def fields(self, position: int) -> dict[str, Any]:
        """The fields of the model.

        Raises:
            InvalidAction: The action is outside its space, or no map of fields.
        """
        if not self._is_looked_at:
            self._look_at_all()
        if self.known is not None:
            return self.known[position]
        value = self._unpacked()[position]
        fields = plain(value) if self._columns is None else self._columns.payload(value)
        if not isinstance(fields, dict):
            raise InvalidAction("An action is the map of its model's fields.")
        return fields

    def value(self, position: int) -> Any:
        """The value of the action space; arrays are the environment's to keep and to change.

        The actions came as columns, and the environment brought numpy.

        Raises:
            InvalidAction: The action is outside its space.
        """
        values = self._values
        if values is None:
            values = self._read()
        if not self._are_inside:
            self.fields(position)
        return values[position]

    def _unpacked(self) -> Sequence[Any]:
        if self._plain is None:
            assert self._columns is not None
            self._plain = self._columns.layout.unpack(self._came, self._rows, are_checked=True)
        return self._plain

    def _look_at_all(self) -> None:
        assert self._columns is not None
        self.known = self._columns.payloads(self._unpacked())
        self._is_looked_at = True

    def _read(self) -> Sequence[Any]:
        assert self._columns is not None
        if self._columns.has_range:
            self._look_at_all()
            self._are_inside = self.known is not None
            values = self._unpacked()
        else:
            values = self._from_arrays(self._columns, sys.modules["numpy"])
        self._values = values
        if self._are_inside:
            self.ready = values
        return values

    def _from_arrays(self, columns: PayloadColumns, numpy: Any) -> list[Any]:
        arrays = [array.copy() for array in columns.layout.arrays(self._came, self._rows, numpy, are_checked=True)]
        self._are_inside = all(each.inside(arrays[column], numpy).all() for column, each in columns.bounds)
        rows = [
            array.tolist() if leaf.is_number else [array[row, ...] for row in range(self._rows)]
            for leaf, array in zip(columns.layout.leaves, arrays, strict=True)
        ]
        return [columns.layout.assemble(parts) for parts in zip(*rows, strict=True)]
