"""A required group cannot be skipped quietly, and an interop run cannot shrink quietly."""

from __future__ import annotations

import importlib.util
import os
import re
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


COMPARING = """
def test_that_compares(request):
    request.node.user_properties.append(("exchanges with openenv 9.9.9", {count}))
"""


@pytest.mark.parametrize(
    ("workers", "required", "outcome"),
    [
        ("0", "", "1 passed, 2 skipped"),
        ("0", "interop,containers", "1 failed, 1 passed, 1 skipped"),
        ("2", "interop,containers", "1 failed, 1 passed, 1 skipped"),
        ("0", "containers", "1 passed, 2 skipped"),
    ],
)
def test_a_skip_in_a_required_group_is_a_failure(workers: str, required: str, outcome: str, tmp_path: Path) -> None:
    (tmp_path / "test_group.py").write_text(SKIPPING, encoding="utf-8")
    done = run(tmp_path, "-n", workers, OPENENV_GYM_REQUIRE=required)
    assert outcome in done.stdout
    assert done.returncode == (1 if "failed" in outcome else 0)
    assert ("no network" in done.stdout) == ("failed" in outcome)


def test_several_workers_share_a_run_by_groups_and_what_they_compared_is_summed_up(tmp_path: Path) -> None:
    for name, count in [("a", 1), ("b", 2), ("tests/interop/c", 10), ("tests/interop/d", 20)]:
        path = tmp_path / f"{name}_test.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(COMPARING.format(count=count), encoding="utf-8")
    done = run(tmp_path, "-n", "2", "-v")
    assert "openenv 9.9.9: 33 exchanges compared" in done.stdout
    found = re.findall(r"\[(gw\d)\].* PASSED \S*(\w)_test\.py", done.stdout)
    worker = {name: who for who, name in found}
    assert worker["c"] == worker["d"], "a group has one worker"
    assert worker["c"] != worker["a"], "and the other one has the rest"
    assert [name for who, name in found if who == worker["c"]][:2] == ["c", "d"], "the longest begin"


def test_what_a_worker_captured_is_told_though_no_utf_8_can_say_it(tmp_path: Path) -> None:
    code = "import logging\n\ndef test_x():\n    logging.error('bad \\udfff text')\n    assert '\\udfff' == ''\n"
    (tmp_path / "test_x.py").write_text(code, encoding="utf-8")
    done = run(tmp_path, "-n", "1")
    assert "1 failed" in done.stdout
    assert "bad \\udfff text" in done.stdout


def run(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs a folder's tests under the hooks of this test suite."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    interop: x\n", encoding="utf-8")
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    environment = {**own, "PYTHONPATH": str(REPOSITORY), **environ}
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        [*command, str(folder)], cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


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
    session = SimpleNamespace(exitstatus=pytest.ExitCode.OK, config=SimpleNamespace())
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


def test_the_minimum_holds_for_a_whole_run_of_several_worker_processes_too(hooks: ModuleType) -> None:
    hooks._whole_groups.add("interop")
    output: dict[str, list[str]] = {}
    hooks.pytest_sessionfinish(SimpleNamespace(exitstatus=0, config=SimpleNamespace(workeroutput=output)))
    hooks._whole_groups.clear()
    assert exit_status(hooks) == pytest.ExitCode.OK, "the process that the worker reports to collects nothing itself"
    hooks.pytest_testnodedown(SimpleNamespace(workeroutput=output))
    assert exit_status(hooks) == pytest.ExitCode.TESTS_FAILED


def test_a_part_of_the_group_has_no_minimum(hooks: ModuleType) -> None:
    assert hooks._missed_minimums() == []
