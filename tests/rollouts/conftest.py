"""Shared by the tests of rollouts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openenv_gym import shutdown


@pytest.fixture(scope="session", autouse=True)
def no_servers_are_left() -> Iterator[None]:
    """Ends the servers that ids started."""
    yield
    shutdown()
