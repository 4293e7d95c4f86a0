"""What a Space gets of a project's folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_registry.space_files import space_files

from tests.support.hub.spaces import ECHO


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "echo"
    shutil.copytree(ECHO, folder, ignore=shutil.ignore_patterns("__pycache__", "vendor"))
    return folder


def paths(folder: Path, wheel: Path | None = None) -> set[str]:
    return {file.path for file in space_files(folder, 8000, wheel=wheel)}


def write(path: Path, text: str = "x") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_dockerfile_is_at_the_top_too(project: Path) -> None:
    found = {file.path: file for file in space_files(project, 8000)}
    assert found["Dockerfile"].source == found["server/Dockerfile"].source
    assert found["Dockerfile"].size == (project / "server" / "Dockerfile").stat().st_size


def test_the_three_ignore_files_count_and_the_last_brings_back(project: Path) -> None:
    for name in (
        "out/a",
        "notes.txt",
        "tests/test_more.py",
        "deep/out/a",
        ".git/config",
        "x/__pycache__/a.pyc",
    ):
        write(project / name)
    assert "notes.txt" in paths(project)
    assert not {path for path in paths(project) if path.startswith((".git/", "tests/", "x/"))}
    write(project / ".gitignore", "out/\nvendor/\n")
    write(project / ".openenvignore", "notes.txt\n!tests/\n")
    found = paths(project)
    assert "tests/test_more.py" in found
    assert not found & {"out/a", "deep/out/a", "notes.txt"}


def test_wheels_of_the_image_come_along_though_git_ignores_them_and_ours_is_the_new_one(
    project: Path, tmp_path: Path
) -> None:
    write(project / ".gitignore", "vendor/\n")
    for name in ("other-1.0-py3-none-any.whl", "openenv_gym-0.0.1-py3-none-any.whl", "notes.txt"):
        write(project / "vendor" / name)
    wheel = tmp_path / "openenv_gym-9.0-py3-none-any.whl"
    write(wheel, "ours")
    found = {path for path in paths(project, wheel=wheel) if path.startswith("vendor/")}
    assert found == {"vendor/other-1.0-py3-none-any.whl", "vendor/openenv_gym-9.0-py3-none-any.whl"}


@pytest.mark.parametrize("target", ["../outside.txt", "/etc/hostname", "nowhere", ".git/config", "server"])
def test_a_link_that_a_space_cannot_have_is_refused_unless_it_is_left_out(project: Path, target: str) -> None:
    write(project.parent / "outside.txt")
    write(project / ".git" / "config")
    (project / "linked").symlink_to(target)
    with pytest.raises(ConfigurationError, match=r"linked is a symbolic link"):
        space_files(project, 8000)
    write(project / ".openenvignore", "linked\n")
    assert "linked" not in paths(project)


def test_a_link_by_way_of_another_one_does_not_get_out(project: Path) -> None:
    write(project.parent / "outside.txt")
    (project / "first").symlink_to(project.parent)
    write(project / ".openenvignore", "first\n")
    (project / "second").symlink_to("first/outside.txt")
    with pytest.raises(ConfigurationError, match=r"second is a symbolic link that leads out"):
        space_files(project, 8000)


def test_a_link_within_the_project_becomes_a_file(project: Path) -> None:
    (project / "copy.yaml").symlink_to("openenv.yaml")
    found = {file.path: file for file in space_files(project, 8000)}
    assert found["copy.yaml"].size == (project / "openenv.yaml").stat().st_size


def test_a_harmless_name_for_a_secret_file_is_seen_through(project: Path) -> None:
    write(project / "id_rsa")
    write(project / ".openenvignore", "id_rsa\n")
    (project / "harmless.txt").symlink_to("id_rsa")
    with pytest.raises(ConfigurationError, match=r"harmless\.txt is called as files with secrets are"):
        space_files(project, 8000)


def test_nothing_of_the_folder_is_changed(project: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    space_files(project, 8000)
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before
