from __future__ import annotations

import json
from pathlib import Path

import gymnasium
from openenv_gym_cli.scaffold import make_project, new_project
from openenv_gym_registry.catalogue import known_spaces

import openenv_gym
from tests.support.command import openenv


def install(project: Path, site: Path) -> None:
    """Puts a project where Python finds it, as installing it as editable would."""
    site.mkdir()
    info = site / f"{project.name}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project.name}\nVersion: 0.1.0\n", encoding="utf-8")
    points = f"[openenv_gym.environments]\n{project.name} = {project.name}_env\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    (site / f"{project.name}_env").symlink_to(project / f"{project.name}_env")


def test_every_id_that_is_listed_as_bundled_or_space_is_registered() -> None:
    listed = json.loads(openenv("list", "--json").stdout)
    assert openenv_gym.__version__
    ids = [each["id"] for each in listed if each["kind"] in ("bundled", "space")]
    assert [id for id in ids if id not in gymnasium.registry] == []
    assert {"openenv/Blackjack-v0", "openenv/CartPole-v1", *(each.id for each in known_spaces())} <= set(ids)


def test_the_table_has_a_line_an_environment() -> None:
    run = openenv("list")
    assert len(run.stdout.splitlines()) == 1 + len(json.loads(openenv("list", "--json").stdout))


def test_an_installed_environment_is_listed(tmp_path: Path) -> None:
    project = make_project(new_project("walk", "typed", tmp_path / "walk"))
    # As a link into the project, the package finds it beside itself.
    site = tmp_path / "site"
    install(project, site)
    (site / "openenv.yaml").write_text((project / "openenv.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    listed = json.loads(openenv("list", "--json", env={"PYTHONPATH": str(site)}).stdout)
    assert [each for each in listed if each["kind"] == "installed"] == [
        {
            "id": "openenv/Walk-v0",
            "kind": "installed",
            "origin": "walk_env",
            "description": "A walk to the right end of a corridor.",
        }
    ]


def test_a_broken_installed_environment_is_noted_and_left_out(tmp_path: Path) -> None:
    project = make_project(new_project("walk", "typed", tmp_path / "walk"))
    site = tmp_path / "site"
    install(project, site)
    (site / "openenv.yaml").write_text("name: [", encoding="utf-8")
    run = openenv("list", "--json", env={"PYTHONPATH": str(site)})
    assert run.returncode == 0
    assert all(each["kind"] != "installed" for each in json.loads(run.stdout))
    assert "walk_env is left out" in run.stderr
