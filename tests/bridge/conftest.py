"""Servers that the bridge's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openenv_gym.bridge.wires import Wire
from openenv_gym.transports.websocket_connection import WebSocketConnection
from tests.support.servers import RunningServer, killed, running_server


@pytest.fixture(params=["standard", "vector"])
def wire(request: pytest.FixtureRequest) -> Wire:
    """Each wire in turn: what is tested holds on both."""
    found: Wire = request.param
    return found


@pytest.fixture(params=["the caller", "the event loop"])
def io_by(request: pytest.FixtureRequest) -> Iterator[str]:
    """Who may write and read, in turn: what is tested holds for both."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "the event loop":
            patch.setattr(WebSocketConnection, "can_be_lent", False)
        yield request.param


@pytest.fixture(scope="module")
def walk() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.bridge_walks:walk") as server:
        yield server


@pytest.fixture(scope="module")
def stream() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.bridge_walks:stream") as server:
        yield server


@pytest.fixture(scope="module")
def texts() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.bridge_texts:app") as server:
        yield server


@pytest.fixture
def execution() -> str:
    """Where environments run; tests that hold for each execution say so themselves."""
    return "thread"


@pytest.fixture
def faults(execution: str) -> Iterator[RunningServer]:
    settings = {"TEST_EXECUTION": execution}
    with running_server("tests.support.apps.bridge_faults:app", env=settings) as server, killed(server):
        yield server
