"""The catalogue is what the bundled projects say, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_registry.catalogue import (
    CATALOGUE_PATH,
    SPACES_PATH,
    built_catalogue,
    catalogue,
    known_spaces,
    lookup,
    main,
    read_entry,
)
from openenv_gym_registry.manifest import read_manifest
from openenv_gym_registry.projects import projects_root


def test_the_committed_catalogue_is_built_from_the_projects() -> None:
    assert CATALOGUE_PATH.read_text(encoding="utf-8") == built_catalogue(projects_root()), (
        "run `python -m openenv_gym_registry.catalogue --write`"
    )
    assert main(["--check"]) == 0


def test_every_project_is_in_the_catalogue_under_its_folders_name() -> None:
    folders = {path.parent.name for path in projects_root().glob("*/openenv.yaml")}
    assert set(catalogue()) == folders >= {"blackjack", "echo"}
    for folder in folders:
        assert read_manifest(projects_root() / folder).name == folder


def test_a_changed_manifest_shows_in_the_catalogue(tmp_path: Path) -> None:
    project = tmp_path / "grid"
    project.mkdir()
    (project / "openenv.yaml").write_text("name: grid\nx-openenv-gym: {max_episode_steps: 9}\n", encoding="utf-8")
    (tmp_path / "not_a_project").mkdir()
    (entry,) = json.loads(built_catalogue(tmp_path))
    assert (entry["id"], entry["project"], entry["max_episode_steps"]) == ("openenv/Grid-v0", "grid", 9)
    assert read_entry(project).info_keys == ()


def test_variants_of_a_project_share_what_is_said_of_its_seeds(tmp_path: Path) -> None:
    project = tmp_path / "grid"
    project.mkdir()
    block = "x-openenv-gym:\n  seeded_stream: true\n  variants:\n    openenv/Wide-v2: {settings: {WIDTH: '9'}}\n"
    (project / "openenv.yaml").write_text(f"name: grid\n{block}", encoding="utf-8")
    (variant,) = read_entry(project).variants
    assert (variant.id, variant.project, variant.settings) == ("openenv/Wide-v2", "grid", {"WIDTH": "9"})
    assert (variant.seeded_stream, variant.seed_supported, variant.variants) == (True, None, ())


def test_an_unknown_project_names_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="'blackjack'"):
        lookup("blackjak")


def test_the_command_refuses_other_arguments() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "openenv_gym_registry.catalogue", "--wirte"], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 2
    assert "--write" in run.stderr


def test_the_known_spaces_are_those_of_the_openenv_organisation() -> None:
    spaces = known_spaces()
    assert len(json.loads(SPACES_PATH.read_text(encoding="utf-8"))) == len(spaces) == len({s.id for s in spaces})
    assert all(known.space.startswith("openenv/") and known.id == known.space for known in spaces)
