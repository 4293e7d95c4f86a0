from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from openenv_gym_cli.project import folder_named, read_project
from openenv_gym_protocol.errors import ConfigurationError

MANIFEST = "name: game\n"


def project(folder: Path, manifest: str = MANIFEST) -> Path:
    (folder / "server").mkdir(parents=True)
    (folder / "server" / "app.py").touch()
    (folder / "openenv.yaml").write_text(manifest, encoding="utf-8")
    return folder


def refusal(path: str | Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read_project(path)
    return caught.value.message


def test_a_project_is_read(tmp_path: Path) -> None:
    read = read_project(project(tmp_path / "game"))
    assert (read.folder, read.name, read.manifest.app) == (tmp_path / "game", "game", "server.app:app")


def test_the_nearest_project_below_is_named(tmp_path: Path) -> None:
    project(tmp_path / "a" / "b")
    project(tmp_path / "z")
    assert refusal(tmp_path).endswith("it has no openenv.yaml. openenv.yaml is in ./z.")


def test_the_project_around_is_named(tmp_path: Path) -> None:
    folder = project(tmp_path / "game")
    assert f"openenv.yaml is in {folder}." in refusal(folder / "server")


def test_where_there_is_none_the_command_that_makes_one_is_named(tmp_path: Path) -> None:
    assert "openenv init" in refusal(tmp_path)


def test_a_folder_that_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "missing") == f"There is no folder {tmp_path / 'missing'}."
    assert refusal(tmp_path / "file") == f"{tmp_path / 'file'} is a file. Name the project's folder: {tmp_path}."
    for wrong in ("a\0b", "x" * 300, "~nobody-of-that-name/game"):
        assert "cannot be a project's folder: " in refusal(wrong)
        assert ".." not in refusal(wrong)


@pytest.mark.parametrize(
    ("manifest", "shown"),
    [
        ("name: game\nport: [8000\nx: 1\n", "\n  3 | x: 1"),
        ("name: game\nport: eight\n", "\n  2 | port: eight"),
        ("name: a\nname: b\n", "\n  2 | name: b"),
    ],
)
def test_the_line_of_a_broken_manifest_is_shown(tmp_path: Path, manifest: str, shown: str) -> None:
    folder = project(tmp_path / "game", manifest)
    said = refusal(folder)
    assert f"{folder}/openenv.yaml, line {shown.split()[0]}: " in said
    assert said.endswith(shown)


def test_a_missing_application_is_named(tmp_path: Path) -> None:
    folder = project(tmp_path / "game", "name: game\napp: my.own:app\n")
    assert refusal(folder).endswith("names the application my.own:app, and there is no my/own.py.")


def test_the_nearest_folder_is_named(tmp_path: Path) -> None:
    project(tmp_path / "my_game")
    assert refusal(tmp_path / "my_gmae").endswith(f"Did you mean {tmp_path / 'my_game'}?")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user for a moment")
def test_a_folder_that_is_closed_to_this_user_is_said_to_be_so() -> None:
    with tempfile.TemporaryDirectory() as closed:
        project(Path(closed) / "game")
        Path(closed, "game").chmod(0o444)
        Path(closed).chmod(0o755)
        os.seteuid(65534)
        try:
            assert "Permission denied" in refusal(Path(closed) / "game")
        finally:
            os.seteuid(0)


def test_a_text_names_a_folder_by_its_form_or_because_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "game").mkdir()
    named = {text: folder_named(text) for text in ("game", "path:game", "./other", "~/x", "owner/name", "x" * 300)}
    assert list(named.values()) == ["game", "game", "./other", "~/x", None, None]
