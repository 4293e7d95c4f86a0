"""Tianshou plays, learns and leaves as it does with local environments."""

from __future__ import annotations

import pytest

from tests.trainers.outcomes import assert_check, assert_nothing_is_left, check_names

PROGRAM = "tianshou_checks"

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("name", check_names(PROGRAM))
def test_check(name: str) -> None:
    assert_check("tianshou", PROGRAM, name)


def test_a_program_that_closes_nothing_leaves_no_server() -> None:
    assert_nothing_is_left("tianshou", PROGRAM)
