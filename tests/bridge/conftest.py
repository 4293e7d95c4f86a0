"""Servers that the bridge's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.servers import RunningServer, running_server


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
def faults() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.bridge_faults:app") as server:
        yield server
