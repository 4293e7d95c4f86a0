"""Which steps were answered in a known form."""

from __future__ import annotations

import pytest
from openenv_gym_protocol.vector.repeating import Repeated
from openenv_gym_protocol.vector.requests import VectorSession


def noted_repetitions(monkeypatch: pytest.MonkeyPatch) -> list[Repeated]:
    """The steps that are answered so from now on."""
    answered: list[Repeated] = []
    repeated = VectorSession.repeated

    def note(session: VectorSession, step: Repeated) -> None:
        answered.append(step)
        repeated(session, step)

    monkeypatch.setattr(VectorSession, "repeated", note)
    return answered
