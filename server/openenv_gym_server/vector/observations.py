"""Observations of typed environments as rows of columns."""

from __future__ import annotations

from openenv_gym_protocol.vector.columns import PackedRow
from openenv_gym_protocol.vector.payloads import PayloadColumns
from pydantic import BaseModel

from openenv_gym_server.serialisation import fields_of, is_written_as_it_is


class ObservationPacker:
    """Packs observations; a field whose numbers are written as they are is taken without writing the model.

    Lanes on several threads may ask at once.

    Args:
        columns: How observations and their columns belong together.
    """

    def __init__(self, columns: PayloadColumns) -> None:
        self._columns = columns
        self._short = columns.short
        self._field = columns.field or ""
        self._plain: type | None = None
        """The class of which was found last that it writes its field as it is: most lanes have the same."""

    def pack(self, observation: BaseModel) -> PackedRow:
        """The bytes of each leaf.

        Raises:
            InvalidObservation: It does not fit its space; the message names the field.
        """
        if type(observation) is self._plain or self._is_plain(type(observation)):
            short = self._short(getattr(observation, self._field))
            if short is not None:
                return (short,)
        return self._columns.pack(fields_of(observation, as_columns=True))

    def _is_plain(self, kind: type[BaseModel]) -> bool:
        if not self._field or not is_written_as_it_is(kind, self._field):
            return False
        self._plain = kind
        return True
