"""openenv's own ``openenv validate`` accepts the bundled projects, and those that ``openenv init`` makes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openenv_gym_cli.scaffold import make_project, new_project

from tests.support.stock import REPOSITORY, StockEnvironment, play

pytestmark = pytest.mark.interop

BUNDLED = sorted(path.parent for path in (REPOSITORY / "envs").glob("*/openenv.yaml"))
TEMPLATES = ("typed", "mcp", "gymnasium")


@pytest.fixture(scope="module")
def told(stock: StockEnvironment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the command said of each project, by the project's name or the template's."""
    made = tmp_path_factory.mktemp("templates")
    projects = {path.name: path for path in BUNDLED}
    projects |= {kind: make_project(new_project("walk", kind, made / kind)) for kind in TEMPLATES}
    projects["no project"] = made
    said = play(stock.python, "validate_projects.py", *map(str, projects.values()), timeout=100)
    return dict(zip(projects, said, strict=True))


@pytest.mark.parametrize("name", [*(path.name for path in BUNDLED), *TEMPLATES])
def test_the_static_level_passes(name: str, told: dict[str, dict[str, Any]]) -> None:
    said = told[name]
    assert said["exit_code"] == 0, said
    report = json.loads(said["stdout"])
    assert report["verdict"] == "pass"
    assert {result["check_id"]: result["status"] for result in report["results"]} == {"static.manifest": "pass"}


def test_what_is_no_project_is_found_out(told: dict[str, dict[str, Any]]) -> None:
    assert told["no project"]["exit_code"] != 0
