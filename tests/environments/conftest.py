"""The interpreters in which the environments run; this process has none of their libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.environments import python_of
from tests.support.venvs import VenvUnavailable


@pytest.fixture(scope="session")
def interpreter() -> Callable[[str], Path]:
    """The interpreter of a project, by the project's name."""

    def found(name: str) -> Path:
        try:
            return python_of(name)
        except VenvUnavailable as error:
            pytest.skip(str(error))

    return found
