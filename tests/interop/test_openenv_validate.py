"""openenv's own ``openenv validate`` accepts the bundled projects, and those that ``openenv init`` makes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from openenv_gym_cli.scaffold import make_project, new_project

from tests.support.stock import REPOSITORY, StockEnvironment

pytestmark = pytest.mark.interop

PROJECTS = sorted(path.parent for path in (REPOSITORY / "envs").glob("*/openenv.yaml"))


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_the_static_level_passes(project: Path, stock: StockEnvironment) -> None:
    refuse_findings(project, stock)


@pytest.mark.parametrize("template", ["typed", "mcp", "gymnasium"])
def test_the_static_level_passes_for_every_template(template: str, tmp_path: Path, stock: StockEnvironment) -> None:
    refuse_findings(make_project(new_project("walk", template, tmp_path / "walk")), stock)


def refuse_findings(project: Path, stock: StockEnvironment) -> None:
    """Fails where openenv's own command finds anything."""
    command: list[str] = [
        str(stock.python),
        "-m",
        "openenv.cli",
        "validate",
        "--level",
        "static",
        "--json",
        str(project),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    report = json.loads(run.stdout)
    assert report["verdict"] == "pass"
    assert {result["check_id"]: result["status"] for result in report["results"]} == {"static.manifest": "pass"}
