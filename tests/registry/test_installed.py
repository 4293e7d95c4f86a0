"""Projects that were installed as packages of their own, without any of their code being imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from openenv_gym_registry.installed import installed_project, register_installed
from openenv_gym_registry.registration import register_all


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of imports; what gets registered is forgotten afterwards."""
    register_all()
    before = dict(gymnasium.registry)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def install(site: Path, name: str, *, project: str = "project", manifest: str | None = None) -> Path:
    """Writes a package and its metadata as an installer does; its code cannot be imported.

    Returns:
        The folder of its project.
    """
    package = site / f"{name}_env"
    folder = package / project
    (folder / "server").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n", encoding="utf-8")
    (folder / "server" / "app.py").touch()
    (folder / "openenv.yaml").write_text(manifest or f"name: {name}\n", encoding="utf-8")
    info = site / f"openenv_gym_{name}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: openenv-gym-{name}\nVersion: 0.1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[openenv_gym.environments]\n{name} = {name}_env\n", encoding="utf-8")
    return folder


def test_an_installed_project_is_registered_with_its_folder(site: Path) -> None:
    folder = install(site, "puzzle")
    assert register_installed() == ["openenv/Puzzle-v0"]
    assert gymnasium.spec("openenv/Puzzle-v0").kwargs == {"path": str(folder)}
    assert "puzzle_env" not in sys.modules


@pytest.mark.parametrize("layout", ["project", ".", ".."])
def test_the_project_is_found_in_a_wheel_beside_the_code_or_around_it(site: Path, layout: str) -> None:
    folder = install(site, "puzzle", project=layout)
    assert installed_project("puzzle_env").samefile(folder)


def test_registering_twice_is_the_same_as_once(site: Path) -> None:
    install(site, "puzzle")
    assert register_installed() == register_installed() == ["openenv/Puzzle-v0"]


def test_a_bundled_environment_is_not_replaced(site: Path) -> None:
    install(site, "blackjack")
    install(site, "imposter", manifest="name: imposter\nx-openenv-gym: {id: openenv/Echo-v0}\n")
    assert register_installed() == []
    assert gymnasium.spec("openenv/Blackjack-v0").kwargs == {"project": "blackjack"}
    assert gymnasium.spec("openenv/Echo-v0").kwargs == {"project": "echo"}


def test_a_broken_project_is_logged_and_the_others_are_registered(site: Path, caplog: pytest.LogCaptureFixture) -> None:
    install(site, "broken", manifest="name: a/b\n")
    (install(site, "gone") / "openenv.yaml").unlink()
    install(site, "puzzle")
    assert register_installed() == ["openenv/Puzzle-v0"]
    told = [record.getMessage() for record in caplog.records]
    assert any("broken" in text and "line 1" in text for text in told)
    assert any("gone" in text for text in told)
