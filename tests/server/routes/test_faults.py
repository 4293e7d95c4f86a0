from __future__ import annotations

import pytest
from openenv_gym_protocol import errors
from openenv_gym_server.routes.faults import status_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.ExecutionError("x"), 500),
        (errors.FactoryError("x"), 500),
        (errors.CapacityReached("x"), 503),
        (errors.StepTimeout("x"), 504),
        (errors.SessionLost("x"), 404),
        (errors.UnknownMessageType("x"), 404),
        (errors.InvalidMessage("x"), 422),
        (errors.UnknownOption("x"), 422),
        (errors.SessionError("x"), 500),
    ],
)
def test_every_error_has_its_status(error: errors.OpenEnvGymError, status: int) -> None:
    assert status_of(error) == status
