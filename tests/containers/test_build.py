"""Building an image: what is told meanwhile, and what is said when a step fails."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import docker
import pytest
from openenv_gym_protocol.errors import ConfigurationError, ImageBuildError, ProviderError

from openenv_gym.providers.docker import build_image
from tests.support.engine import BASE_IMAGE, Engine
from tests.support.pools import PROJECTS
from tests.support.project_images import BUNDLED, Images

pytestmark = [pytest.mark.containers, pytest.mark.timeout(300)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a Dockerfile of three short steps."""
    folder = Path(shutil.copytree(PROJECTS / "plain", tmp_path / "plain"))
    write(folder, "ARG BASE_IMAGE", "FROM ${BASE_IMAGE}", "RUN echo one && echo two")
    return folder


def write(folder: Path, *lines: str) -> None:
    (folder / "server" / "Dockerfile").write_text("\n".join(lines) + "\n", encoding="utf-8")


def containers(client: docker.DockerClient) -> set[str]:
    return {str(container.id) for container in client.containers.list(all=True)}


def failed(folder: Path, **keywords: str) -> ImageBuildError:
    with pytest.raises(ImageBuildError) as caught:
        build_image(folder, **{"tag": "openenv-failing:test", "base_image": BASE_IMAGE, **keywords})  # type: ignore[arg-type]
    return caught.value


def test_each_line_is_told_as_it_comes(engine: Engine, project: Path, client: docker.DockerClient) -> None:
    # Something that no engine has built before.
    new = uuid.uuid4().hex
    write(project, "ARG BASE_IMAGE", "FROM ${BASE_IMAGE}", f"RUN echo one && echo {new}")
    lines: list[str] = []
    built = build_image(project, base_image=BASE_IMAGE, on_output=lines.append)
    told = [line for line in lines if line in ("one", new) or line.startswith("Step")]
    assert told == [
        "Step 1/3 : ARG BASE_IMAGE",
        "Step 2/3 : FROM ${BASE_IMAGE}",
        f"Step 3/3 : RUN echo one && echo {new}",
        "one",
        new,
    ]
    assert built.tag == "openenv-plain:latest"
    found = client.images.get(built.tag)
    assert (built.id, built.size) == (found.id, found.attrs["Size"])


def test_nothing_is_written_into_the_project(engine: Engine, project: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    build_image(project, base_image=BASE_IMAGE)
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before


def test_a_command_that_fails_is_named_with_its_last_lines(
    engine: Engine, project: Path, client: docker.DockerClient
) -> None:
    before = containers(client)
    write(project, "ARG BASE_IMAGE", "FROM ${BASE_IMAGE}", "RUN echo before; echo the reason >&2; exit 7", "RUN true")
    error = failed(project)
    assert (error.step, error.exit_code) == (3, 7)
    assert error.command == "RUN echo before; echo the reason >&2; exit 7"
    # Two streams: their lines come in any order.
    assert set(error.logs.splitlines()) == {"before", "the reason"}
    assert "step 3" in error.message
    assert "exit code 7" in error.message
    assert "the reason" in error.message
    assert containers(client) == before


def test_a_dependency_that_cannot_be_had_is_named_with_what_to_do(images: Images, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(BUNDLED / "echo", tmp_path / "echo"))
    listed = (folder / "pyproject.toml").read_text(encoding="utf-8")
    listed = listed.replace('dependencies = ["', 'dependencies = ["no-such-thing>=3", "')
    (folder / "pyproject.toml").write_text(listed, encoding="utf-8")
    with pytest.raises(ImageBuildError, match="no-such-thing>=3") as caught:
        images.build(folder, tag="openenv-failing:test", wheels=[])
    assert caught.value.exit_code == 1
    assert "pip" in caught.value.command
    assert "PIP_INDEX_URL" in caught.value.message


def test_a_base_image_that_cannot_be_had_is_said_to_be_it(engine: Engine, project: Path) -> None:
    error = failed(project, base_image="localhost:9/no/such:image")
    assert (error.step, error.exit_code) == (2, None)
    assert "localhost:9" in error.message
    assert "base_image=" in error.message


def test_a_dockerfile_for_buildkit_alone_is_said_to_need_the_command(engine: Engine, project: Path) -> None:
    write(project, "ARG BASE_IMAGE", "FROM ${BASE_IMAGE}", "RUN --mount=type=cache,target=/c true")
    error = failed(project)
    assert "BuildKit" in error.message
    assert "docker build" in error.message


def test_a_dockerfile_that_cannot_be_read_is_said_so_with_its_line(engine: Engine, project: Path) -> None:
    write(project, "FORM nothing")
    with pytest.raises(ProviderError, match="line 1: unknown instruction: FORM"):
        build_image(project)


def test_a_tag_that_cannot_be_is_refused(engine: Engine, project: Path) -> None:
    with pytest.raises(ConfigurationError, match="Not A Tag"):
        build_image(project, tag="Not A Tag", base_image=BASE_IMAGE)


def test_an_engine_that_is_not_there_is_said_so(project: Path) -> None:
    with pytest.raises(ProviderError, match=r"unix:///nowhere/docker\.sock"):
        build_image(project, engine="unix:///nowhere/docker.sock")


def test_wheels_that_are_none_are_refused(engine: Engine, project: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"missing-1-py3-none-any\.whl"):
        build_image(project, wheels=[tmp_path / "missing-1-py3-none-any.whl"])
