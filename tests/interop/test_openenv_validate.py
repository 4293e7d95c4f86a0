"""openenv's own ``openenv validate`` accepts the bundled projects."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.stock import REPOSITORY, StockEnvironment

pytestmark = pytest.mark.interop

PROJECTS = sorted(path.parent for path in (REPOSITORY / "envs").glob("*/openenv.yaml"))


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_the_static_level_passes(project: Path, stock: StockEnvironment) -> None:
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
