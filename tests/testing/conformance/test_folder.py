"""Checks of a project's folder: each finds its own fault."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from openenv_gym.testing.conformance import Report, Status, validate_project

ENVS = Path(__file__).parents[3] / "envs"
PROJECTS = sorted(path.parent for path in ENVS.glob("*/openenv.yaml"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "grid_world"
    shutil.copytree(ENVS / "grid_world", folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def failed(report: Report) -> dict[str, str]:
    return {finding.check: finding.message for finding in report.failed}


@pytest.mark.parametrize("folder", PROJECTS, ids=lambda path: path.name)
def test_the_bundled_projects_pass_strictly(folder: Path) -> None:
    report = validate_project(folder, strict=True)
    assert failed(report) == {}
    assert {finding.status for finding in report.findings} <= {Status.PASSED, Status.SKIPPED}


def test_a_broken_manifest_is_one_finding_with_its_line(project: Path) -> None:
    (project / "openenv.yaml").write_text("name: x\nport: many\n", encoding="utf-8")
    found = failed(validate_project(project))
    assert found.keys() == {"manifest"}
    assert "line 2" in found["manifest"]


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("server/app.py", "application-file"),
        ("server/Dockerfile", "dockerfile"),
        ("pyproject.toml", "pyproject"),
        ("README.md", "readme"),
    ],
)
def test_a_missing_file_is_named(project: Path, name: str, check: str) -> None:
    (project / name).unlink()
    found = failed(validate_project(project))
    assert found.keys() == {check}
    assert name in found[check]


@pytest.mark.parametrize(
    ("before", "after", "check"),
    [
        ("range: [0.0, 1.0]", "range: [1.0, 0.0]", "manifest-reward-range"),
        ("{type: Discrete, n: 4, start: 0}", "{type: Discrete, n: -4}", "manifest-spaces"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_found(project: Path, before: str, after: str, check: str) -> None:
    manifest = project / "openenv.yaml"
    text = manifest.read_text(encoding="utf-8")
    assert before in text
    manifest.write_text(text.replace(before, after), encoding="utf-8")
    assert failed(validate_project(project)).keys() == {check}


@pytest.mark.parametrize(
    "text",
    [
        "# Grid world\n",
        "---\nsdk: docker\ntags: openenv-tools\n---\n",
        "---\nsdk: docker\ntags: [openenv]\ndate: 2024-13-01\n---\n",
    ],
)
def test_what_a_space_needs_is_advice(project: Path, text: str) -> None:
    (project / "README.md").write_text(text, encoding="utf-8")
    report = validate_project(project)
    assert report.is_ok
    assert [finding.check for finding in report.findings if finding.status is Status.ADVICE] == ["space-settings"]
    assert failed(validate_project(project, strict=True)).keys() == {"space-settings"}
