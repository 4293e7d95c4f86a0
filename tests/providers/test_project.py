from __future__ import annotations

from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.project import Project, manifest_data, missing_module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "app.py").touch()
    return tmp_path


def test_the_application_is_server_app_unless_the_manifest_says_otherwise(folder: Path) -> None:
    assert Project.read(str(folder)).application == "server.app:app"
    (folder / "openenv.yaml").write_text("name: x\n", encoding="utf-8")
    assert Project.read(str(folder)).application == "server.app:app"
    (folder / "openenv.yaml").write_text("app: my_env.serving:application\n", encoding="utf-8")
    assert Project.read(str(folder)).application == "my_env.serving:application"


def test_an_empty_manifest_says_nothing(folder: Path) -> None:
    (folder / "openenv.yaml").touch()
    assert Project.read(str(folder)).application == "server.app:app"


@pytest.mark.parametrize("text", ["app: 3", "app: server.app", "app: '--reload:x'", "[1]", "a: [", "\x00"])
def test_a_manifest_that_cannot_be_meant_is_refused(folder: Path, text: str) -> None:
    (folder / "openenv.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"openenv\.yaml"):
        Project.read(str(folder))


@pytest.mark.parametrize("path", [None, "", "/nowhere/at/all", __file__])
def test_a_path_that_is_no_folder_is_refused(path: str | None) -> None:
    with pytest.raises(ConfigurationError, match="path="):
        Project.read(path)


def test_the_install_line_lists_the_projects_dependencies(folder: Path) -> None:
    project = Project.read(str(folder))
    assert project.install_line("/p", "chess.svg") == "/p -m pip install chess"
    assert project.install_line("/p", "uvicorn") == "/p -m pip install 'uvicorn[standard]'"
    (folder / "pyproject.toml").write_text("[project]\ndependencies = ['chess>1', 'numpy']\n", encoding="utf-8")
    assert project.install_line("/p", "chess.svg") == "/p -m pip install 'chess>1' numpy"
    assert project.install_line("/p", "uvicorn") == "/p -m pip install 'uvicorn[standard]' 'chess>1' numpy"
    (folder / "pyproject.toml").write_text("[project]\ndependencies = ['openenv-gym[server]']\n", encoding="utf-8")
    assert project.install_line("/p", "uvicorn") == "/p -m pip install 'openenv-gym[server]'"
    clients, serving = "['numpy', 'openenv-gym>=1']", "['openenv-gym[server]>=1']"
    text = f"[project]\ndependencies = {clients}\noptional-dependencies.server = {serving}\n"
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    assert project.install_line("/p", "uvicorn") == "/p -m pip install numpy 'openenv-gym[server]>=1'"


def test_the_module_that_failed_last_is_the_missing_one() -> None:
    logs = "ModuleNotFoundError: No module named 'a'\nretrying\nModuleNotFoundError: No module named 'b.c'\n"
    assert missing_module(logs) == "b.c"
    assert missing_module("ValueError: no") is None


@pytest.mark.parametrize(
    "text", ["a: 2024-13-45", "a: !!bool x", "a: !!timestamp x", "a: !!int ''", "[" * 10_000, "\x07"]
)
def test_a_manifest_that_is_no_yaml_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "openenv.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        manifest_data(tmp_path)


def test_a_manifest_that_changes_is_read_anew_and_whoever_has_it_may_change_it(tmp_path: Path) -> None:
    manifest = tmp_path / "openenv.yaml"
    manifest.write_text("app: first:app", encoding="utf-8")
    manifest_data(tmp_path)["app"] = "mine"
    assert manifest_data(tmp_path) == {"app": "first:app"}
    manifest.write_text("app: other:app", encoding="utf-8")
    assert manifest_data(tmp_path) == {"app": "other:app"}
