"""An id tells its worker process where there are several."""

from __future__ import annotations

import pytest
from openenv_gym_server.placement import placed, unplaced, worker_of


def test_an_id_of_several_workers_tells_its_own_and_can_be_had_without() -> None:
    told = placed("5f1c", 12)
    assert (told, worker_of(told), unplaced(told)) == ("5f1c~12", 12, "5f1c")


def test_an_id_of_a_single_server_is_left_as_it_is() -> None:
    told = placed("5f1c", None)
    assert (told, worker_of(told), unplaced(told)) == ("5f1c", None, "5f1c")


@pytest.mark.parametrize("told", ["", "~", "5f1c~", "5f1c~x", "5f1c~-1", "5f1c~²", "5f1c~123456"])
def test_whatever_else_a_client_sends_names_no_worker(told: str) -> None:
    assert worker_of(told) is None
    assert unplaced(told) == told
