"""Every test of providers ends with its pool ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openenv_gym.providers import pool


@pytest.fixture(autouse=True)
def _pool_ends_with_the_test() -> Iterator[None]:
    yield
    pool.shutdown()
