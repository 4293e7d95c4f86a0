"""What an image is built from."""

from __future__ import annotations

import os
import socket
import tarfile
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.docker.context import build_context, context_files, dockerfile_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project's folder, with what no image needs."""
    folder = tmp_path / "game"
    for name in (
        "openenv.yaml",
        "server/Dockerfile",
        "server/app.py",
        "game_env/levels/one.txt",
        "vendor/theirs-1-py3-none-any.whl",
        "vendor/openenv_gym-0.0.1-py3-none-any.whl",
        # Not these.
        ".git/HEAD",
        ".env",
        "game_env/.env.local",
        ".venv/bin/python",
        "game_env/__pycache__/app.cpython-311.pyc",
        ".mypy_cache/x",
        "node_modules/x/y.js",
    ):
        write(folder / name)
    return folder


def write(path: Path, text: str = "x") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def files_of(folder: Path) -> set[str]:
    """What goes into the build, without the folders."""
    return {path for path in context_files(folder) if not (folder / path).is_dir()}


KEPT = {
    "openenv.yaml",
    "server/Dockerfile",
    "server/app.py",
    "game_env/levels/one.txt",
    "vendor/theirs-1-py3-none-any.whl",
    "vendor/openenv_gym-0.0.1-py3-none-any.whl",
}


def test_secrets_caches_and_histories_are_left_out(project: Path) -> None:
    assert files_of(project) == KEPT


def test_a_dockerignore_adds_and_brings_back(project: Path) -> None:
    write(project / ".dockerignore", "# levels are fetched\n\ngame_env/levels\n**/*.whl\nserver/Dockerfile\n!.env\n")
    kept = {"openenv.yaml", ".env", ".dockerignore", "server/app.py"}
    # The builder needs its Dockerfile, whatever the file says.
    assert files_of(project) == kept | {"server/Dockerfile"}


@pytest.mark.parametrize(
    "target",
    ["/etc/passwd", "../../secret", "../..", "levels/../../../secret"],
    ids=["absolute", "above", "up", "winding"],
)
def test_a_link_that_leads_out_is_refused_by_name(project: Path, target: str) -> None:
    (project / "game_env" / "link").symlink_to(target)
    with pytest.raises(ConfigurationError, match="leads out of the project") as caught:
        context_files(project)
    assert str(project / "game_env" / "link") in caught.value.message
    assert ".dockerignore" in caught.value.message


def test_a_link_that_leads_out_may_stay_when_it_is_ignored(project: Path) -> None:
    (project / "link").symlink_to("/etc/passwd")
    write(project / ".dockerignore", "link\n")
    assert "link" not in files_of(project)


def test_a_link_inside_is_packed_as_a_link(project: Path) -> None:
    (project / "game_env" / "same").symlink_to("levels/one.txt")
    with archive_of(project) as archive:
        assert archive.getmember("game_env/same").linkname == "levels/one.txt"


class archive_of:
    """The build's archive, opened."""

    def __init__(self, folder: Path, *wheels: Path) -> None:
        self._context = build_context(folder, wheels)

    def __enter__(self) -> tarfile.TarFile:
        self._archive = tarfile.open(fileobj=self._context.__enter__())
        return self._archive

    def __exit__(self, *error: object) -> None:
        self._archive.close()
        self._context.__exit__(None, None, None)


def test_our_wheel_takes_the_place_of_another_one_of_ours(project: Path, tmp_path: Path) -> None:
    ours = tmp_path / "openenv_gym-0.2.0-py3-none-any.whl"
    write(ours, "new")
    with archive_of(project, ours) as archive:
        wheels = sorted(name for name in archive.getnames() if name.endswith(".whl"))
        packed = archive.extractfile(f"vendor/{ours.name}")
        assert packed is not None
        assert packed.read() == b"new"
    assert wheels == [f"vendor/{ours.name}", "vendor/theirs-1-py3-none-any.whl"]
    # Nothing is written into the folder.
    assert sorted(path.name for path in (project / "vendor").iterdir()) == [
        "openenv_gym-0.0.1-py3-none-any.whl",
        "theirs-1-py3-none-any.whl",
    ]


def test_modes_and_owners_are_the_same_whoever_packs(project: Path) -> None:
    (project / "server" / "app.py").chmod(0o600)
    (project / "openenv.yaml").chmod(0o700)
    with archive_of(project) as archive:
        assert {(member.uid, member.gid, member.uname) for member in archive} == {(0, 0, "")}
        modes = {name: archive.getmember(name).mode for name in ("server", "server/app.py", "openenv.yaml")}
    assert modes == {"server": 0o755, "server/app.py": 0o644, "openenv.yaml": 0o755}


def test_two_names_of_one_file_are_both_packed_whole(project: Path) -> None:
    os.link(project / "openenv.yaml", project / "same.yaml")
    with archive_of(project) as archive:
        contents = [archive.extractfile(name) for name in ("openenv.yaml", "same.yaml")]
        assert [content.read() for content in contents if content is not None] == [b"x", b"x"]


def test_a_socket_is_passed_over(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        with archive_of(project) as archive:
            assert "s" not in archive.getnames()


def test_a_dockerfile_is_looked_for_in_two_places(project: Path) -> None:
    write(project / "Dockerfile")
    assert dockerfile_of(project) == "server/Dockerfile"
    (project / "server" / "Dockerfile").unlink()
    assert dockerfile_of(project) == "Dockerfile"
    (project / "Dockerfile").unlink()
    with pytest.raises(ConfigurationError, match="server/Dockerfile"):
        dockerfile_of(project)


def test_a_folder_that_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not a folder"):
        dockerfile_of(tmp_path / "nowhere")
