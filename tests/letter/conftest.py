"""Servers, environments, and the wires on which every test runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import pytest

import openenv_gym
from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support import drawn as drawn_environments
from tests.support.servers import RunningServer, running_server

WIRES: tuple[str | None, ...] = (
    ("standard", "vector") if "wire" in inspect.signature(RemoteEnv.__init__).parameters else (None,)
)
"""What ``wire=`` can be; None as long as environments have no such keyword."""


@pytest.fixture(params=WIRES, ids=[wire or "the-only-wire" for wire in WIRES])
def wire(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The keyword that chooses the wire."""
    return {} if request.param is None else {"wire": request.param}


@pytest.fixture
def make(wire: dict[str, Any]) -> Iterator[Callable[..., RemoteEnv]]:
    """Makes environments that speak the wire, and closes them."""
    made: list[RemoteEnv] = []

    def make(*args: Any, **keywords: Any) -> RemoteEnv:
        made.append(RemoteEnv(*args, **{**wire, **keywords}))
        return made[-1]

    yield make
    for env in made:
        env.close()


@pytest.fixture
def make_many(wire: dict[str, Any]) -> Iterator[Callable[..., RemoteVectorEnv]]:
    """Makes vector environments that speak the wire, and closes them."""
    made: list[RemoteVectorEnv] = []

    def make(*args: Any, **keywords: Any) -> RemoteVectorEnv:
        made.append(RemoteVectorEnv(*args, **{**wire, **keywords}))
        return made[-1]

    yield make
    for envs in made:
        envs.close()


@pytest.fixture(scope="session")
def drawn() -> Iterator[RunningServer]:
    """A server with one application for each space of ``tests.support.drawn``."""
    drawn_environments.register()
    with running_server("tests.support.apps.drawn:app") as server:
        yield server
    gymnasium.registry.pop(drawn_environments.ID, None)


@pytest.fixture(scope="session")
def walk() -> Iterator[RunningServer]:
    """A walk whose spaces are derived and whose seeds the client sends."""
    with running_server("tests.support.apps.bridge_walks:walk") as server:
        yield server


@pytest.fixture(scope="session")
def stream() -> Iterator[RunningServer]:
    """A walk whose spaces are declared and that continues its random stream."""
    with running_server("tests.support.apps.bridge_walks:stream") as server:
        yield server


@pytest.fixture(scope="session")
def texts() -> Iterator[RunningServer]:
    """An environment of free text."""
    with running_server("tests.support.apps.bridge_texts:app") as server:
        yield server


@pytest.fixture(scope="session")
def faults() -> Iterator[RunningServer]:
    """An environment that misbehaves on command."""
    with running_server("tests.support.apps.bridge_faults:app") as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def _pool() -> Iterator[None]:
    yield
    openenv_gym.shutdown()


@pytest.fixture
def registry() -> Iterator[None]:
    """Forgets ids that a test registers."""
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)
