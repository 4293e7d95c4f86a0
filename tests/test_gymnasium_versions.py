"""What Gymnasium asks for holds beside its earlier releases too: every run tries the core beside the oldest."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.gymnasium_versions import OLDEST, VERSIONS, gymnasium_environment, run_tests
from tests.support.venvs import VenvUnavailable

LETTER = "tests/letter"
CORE = [f"{LETTER}/test_{name}.py" for name in ("ids", "vector_contract", "vector_equality", "wrappers")]


def check(version: str, tests: Sequence[str], *, at_least: int) -> None:
    try:
        python = gymnasium_environment(version)
    except VenvUnavailable as error:
        pytest.skip(str(error))
    run = run_tests(python, tests, timeout=500)
    assert run.failed == 0, run.output[-5000:]
    assert run.passed >= at_least


@pytest.mark.gymnasium_versions
@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", [OLDEST])
def test_the_core_of_the_letter_holds_beside_an_earlier_gymnasium(version: str) -> None:
    check(version, CORE, at_least=400)


@pytest.mark.whole_letter
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_whole_letter_holds_beside_an_earlier_gymnasium(version: str) -> None:
    check(version, [LETTER], at_least=600)
