"""Writes the answers to steps, of which most have the form of the one before."""

from __future__ import annotations

from openenv_gym_protocol.vector.frames import Batch, Rows
from openenv_gym_protocol.vector.repeating import Latest, RowsForm

from openenv_gym_server.vector.parts import Part


class RowsWriter:
    """Writes the answers of one link's lanes in one piece, where they have nothing but arrays of a known form."""

    def __init__(self) -> None:
        self._latest: Latest[RowsForm] = Latest()

    def frame(self, request_id: int, part: Part) -> bytes | None:
        """The frame that answers a request, as the codec writes it; None where that has to."""
        observed = part.observed
        if observed is None or observed.infos is not None or not observed.columns or part.failures or part.final:
            return None
        arrays = [*observed.columns, part.rewards, part.flags]
        form = self._latest.form
        if form is not None and form.lanes == tuple(part.lanes):
            frame = form.write(request_id, arrays)
            if frame is not None:
                self._latest.uses += 1
                return frame
        self._learn(part, Batch(columns=list(observed.columns)))
        return None

    def _learn(self, part: Part, observations: Batch) -> None:
        if self._latest.is_replaced():
            rows = Rows(id=0, lanes=list(part.lanes), observations=observations, rewards=part.rewards, flags=part.flags)
            self._latest.form = RowsForm(rows) if RowsForm.has(rows) else None
