"""A required group cannot be skipped quietly, and an interop run cannot shrink quietly."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

SKIPPING = """
import pytest

@pytest.mark.interop
def test_of_the_group():
    pytest.skip("no network")

def test_of_no_group():
    pytest.skip("not here")

@pytest.mark.interop
def test_that_runs():
    pass
"""


@pytest.mark.parametrize(
    ("required", "outcome"),
    [
        ("", "1 passed, 2 skipped"),
        ("interop,containers", "1 failed, 1 passed, 1 skipped"),
        ("containers", "1 passed, 2 skipped"),
    ],
)
def test_a_skip_in_a_required_group_is_a_failure(required: str, outcome: str, tmp_path: Path) -> None:
    (tmp_path / "test_group.py").write_text(SKIPPING, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    interop: x\n", encoding="utf-8")
    environment = {**os.environ, "OPENENV_GYM_REQUIRE": required, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-q", str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert outcome in done.stdout
    assert done.returncode == (1 if "failed" in outcome else 0)
    assert ("no network" in done.stdout) == ("failed" in outcome)


@pytest.fixture
def hooks() -> ModuleType:
    """The hooks of this test suite, loaded afresh so that the running ones are left alone."""
    spec = importlib.util.spec_from_file_location("fresh_hooks", REPOSITORY / "tests" / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exit_status(hooks: ModuleType) -> int:
    """How a green session ends under these hooks."""
    session = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    hooks.pytest_sessionfinish(session)
    return int(session.exitstatus)


def test_a_whole_run_that_compares_too_little_is_told(hooks: ModuleType) -> None:
    hooks._whole_groups.add("interop")
    ((version, least),) = hooks.MINIMUM_EXCHANGES["interop"].items()
    hooks._compared[version] = least - 1
    (line,) = hooks._missed_minimums()
    assert version in line
    assert exit_status(hooks) == pytest.ExitCode.TESTS_FAILED
    hooks._compared[version] = least
    assert hooks._missed_minimums() == []
    assert exit_status(hooks) == pytest.ExitCode.OK


def test_a_part_of_the_group_has_no_minimum(hooks: ModuleType) -> None:
    assert hooks._missed_minimums() == []
