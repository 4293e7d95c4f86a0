"""The kit as an author's tests: pytest in a process of its own, as an author runs it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import environ
from tests.support.servers import running_server

ROOT = Path(__file__).parents[2]

TEST = """
def test_conformance(openenv_check):
    openenv_check()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "grid_world"
    shutil.copytree(ROOT / "envs" / "grid_world", folder, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    (folder / "test_it.py").write_text(TEST, encoding="utf-8")
    (folder / "conftest.py").write_text('pytest_plugins = ["openenv_gym.testing.plugin"]\n', encoding="utf-8")
    return folder


def ran(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-v", "-rs", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environ({}), capture_output=True, text=True, timeout=100, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_the_project_in_whose_folder_pytest_runs_is_checked(project: Path) -> None:
    code, told = ran(project)
    assert code == 0, told
    for check in ("manifest", "unknown-type", "rewards-in-range", "token-asked-for"):
        assert re.search(rf"test_conformance\[{check}\] PASSED", told)
    assert "test_conformance[tools-list] SKIPPED" in told
    assert "the environment has no tools" in told


def test_a_failed_check_fails_its_test_with_what_was_found(project: Path) -> None:
    manifest = project / "openenv.yaml"
    text = manifest.read_text(encoding="utf-8").replace("range: [0.0, 1.0]", "range: [1.5, 2.0]")
    manifest.write_text(text, encoding="utf-8")
    code, told = ran(project, "-k", "rewards")
    assert code == 1
    assert "A reward is 0, outside the declared 1.5 to 2" in told
    assert set(re.findall(r"test_conformance\[(\S+)\] FAILED", told)) == {"rewards-in-range"}


def test_a_server_is_checked_by_its_address(project: Path) -> None:
    with running_server("tests.support.apps.faulty:app", env={"TEST_FAULT": "other_code"}) as server:
        code, told = ran(project, f"--openenv-url={server.base_url}", "-k", "unknown-type or manifest or bad-json")
    assert code == 1
    assert "test_conformance[unknown-type] FAILED" in told
    assert "test_conformance[bad-json] PASSED" in told
    assert "[manifest]" not in told


def test_a_folder_without_a_project_is_an_error_that_says_what_to_name(project: Path, tmp_path: Path) -> None:
    code, told = ran(project, f"--openenv-project={tmp_path}", "-k", "pyproject")
    assert code != 0
    assert "name a project by --openenv-project" in told
