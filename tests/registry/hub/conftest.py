"""The Hub that the tests here ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hub.spaces import hub_for
from tests.support.hub.state import HubState


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubState]:
    with hub_for(monkeypatch, tmp_path) as running:
        yield running
