"""The examples that learn do learn, and their committed results say what they reached."""

from __future__ import annotations

import re

import pytest

from tests.support.trainers import EXAMPLES, PROGRAMS, RESULTS, TRAINERS, python_or_skip, train


def reached(printed: str) -> tuple[int, float]:
    """The steps and the mean return that a program told in its last lines."""
    steps = re.search(r"([\d,]+) steps in ", printed)
    returns = re.search(r"^mean return of [^:]*: ([\d.]+)", printed, re.MULTILINE)
    assert steps, printed
    assert returns, printed
    return int(steps[1].replace(",", "")), float(returns[1])


def _assert_enough_was_learnt(name: str, printed: str) -> None:
    steps, mean = reached(printed)
    assert steps <= PROGRAMS[name].steps
    assert mean > PROGRAMS[name].must_reach


def test_every_program_is_there_and_has_a_trainer() -> None:
    for program in PROGRAMS.values():
        assert (EXAMPLES / program.file).is_file()
        assert program.trainer in TRAINERS


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_committed_result_tells_that_enough_was_learnt(name: str) -> None:
    _assert_enough_was_learnt(name, (RESULTS / f"{name}.txt").read_text(encoding="utf-8"))


@pytest.mark.trainers
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_learns(name: str) -> None:
    python_or_skip(PROGRAMS[name].trainer)
    _assert_enough_was_learnt(name, train(name))
