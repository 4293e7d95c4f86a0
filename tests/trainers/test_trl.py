"""TRL's GRPOTrainer learns on remote environments, from the rewards that they gave."""

from __future__ import annotations

import pytest

from tests.trainers.outcomes import assert_check, check_names

PROGRAM = "trl_checks"

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("name", check_names(PROGRAM))
def test_check(name: str) -> None:
    assert_check("trl", PROGRAM, name)
