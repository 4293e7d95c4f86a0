"""A server that is busy with the end of the last session is waited for."""

from __future__ import annotations

import pytest
from openenv_gym_protocol.errors import CapacityReached

from openenv_gym.testing.conformance import wire


class Full:
    """A client of a server whose slot comes back after so many tries."""

    def __init__(self, tries: int) -> None:
        self.left = tries

    def reset(self, *, seed: int) -> None:
        self.left -= 1
        if self.left:
            raise CapacityReached("full", active_sessions=1, max_sessions=1)


def test_a_slot_that_is_not_free_yet_is_asked_for_again() -> None:
    wire._reset_when_there_is_a_slot(Full(3))


def test_a_slot_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SLOT_SECONDS", 0.0)
    with pytest.raises(CapacityReached):
        wire._reset_when_there_is_a_slot(Full(-1))
