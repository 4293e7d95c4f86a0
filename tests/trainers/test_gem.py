"""GEM makes, steps and spawns remote environments as its own."""

from __future__ import annotations

import pytest

from tests.trainers.outcomes import assert_check, check_names

PROGRAM = "gem_checks"

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("name", check_names(PROGRAM))
def test_check(name: str) -> None:
    assert_check("gem", PROGRAM, name)
