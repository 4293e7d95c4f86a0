"""Observations of typed environments as rows of columns."""

from __future__ import annotations

from openenv_gym_protocol.vector.columns import PackedRow
from openenv_gym_protocol.vector.payloads import PayloadColumns
from pydantic import BaseModel

from openenv_gym_server.serialisation import Left, fields_of, left_as_it_is


class ObservationPacker:
    """Packs observations; what the model would write as it is is taken without asking it.

    Lanes on several threads may ask at once.

    Args:
        columns: How observations and their columns belong together.
    """

    def __init__(self, columns: PayloadColumns) -> None:
        self._columns = columns
        self._short = columns.short
        self._field = columns.field or ""
        self._latest: tuple[type, Left] = (BaseModel, Left.NOTHING)
        """What was found of a class last, in one piece; most observations are of the same."""

    def pack(self, observation: BaseModel) -> PackedRow:
        """The bytes of each leaf.

        Raises:
            InvalidObservation: It does not fit its space; the message names the field.
        """
        kind, left = self._latest
        if type(observation) is not kind:
            left = left_as_it_is(type(observation), self._field)
            self._latest = (type(observation), left)
        if left is not Left.NOTHING:
            value = getattr(observation, self._field)
            short = self._short(value) if left is Left.NUMBERS or type(value) is not list else None
            if short is not None:
                return (short,)
        return self._columns.pack(fields_of(observation, as_columns=True))
