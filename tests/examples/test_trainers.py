"""The examples that learn do learn, and their committed results say what they reached."""

from __future__ import annotations

import re

import pytest

from tests.support.trainers import PROGRAMS, RESULTS, train, trainer_python
from tests.support.venvs import VenvUnavailable

MUST_REACH = 150.0
"""The mean return within 60,000 steps; 500 is the most that CartPole gives, and a random policy reaches 22."""


def reached(printed: str) -> tuple[int, float]:
    """The steps and the mean return that a program told in its last lines."""
    steps = re.search(r"([\d,]+) steps in ", printed)
    returns = re.search(r"^mean return of [^:]*: ([\d.]+)", printed, re.MULTILINE)
    assert steps, printed
    assert returns, printed
    return int(steps[1].replace(",", "")), float(returns[1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_committed_result_tells_that_enough_was_learnt(name: str) -> None:
    steps, mean = reached((RESULTS / f"{name}.txt").read_text(encoding="utf-8"))
    assert steps <= 60_000
    assert mean > MUST_REACH


@pytest.mark.trainers
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_learns(name: str) -> None:
    try:
        trainer_python()
    except VenvUnavailable as error:
        pytest.skip(str(error))
    steps, mean = reached(train(name))
    assert steps <= 60_000
    assert mean > MUST_REACH
