from __future__ import annotations

import pytest

from tests.support.direct_sockets import Act, Play
from tests.support.loops import LOOPS, run_on

PATIENCE = 20.0


@pytest.fixture(params=LOOPS)
def play(request: pytest.FixtureRequest) -> Play:
    """Runs a scene on either event loop."""

    def run(act: Act) -> None:
        run_on(request.param, act(), PATIENCE)

    return run
