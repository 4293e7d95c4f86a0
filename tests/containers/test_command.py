"""``openenv build``, ``run``, ``ps``, ``stop`` and ``reap`` with a real engine."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import gymnasium
import psutil
import pytest
from openenv_gym_cli.scaffold import make_project, new_project

from openenv_gym.providers.docker.labels import POOL_LABEL, SERVER_LABEL
from tests.support.command import RunningCommand, openenv, running_openenv
from tests.support.engine import BASE_IMAGE, Engine
from tests.support.pools import all_end, eventually, keepers_of, watchdogs_of
from tests.support.project_images import FROM_VENDOR, Images, wheels_of

pytestmark = [pytest.mark.containers, pytest.mark.timeout(600)]

BUILD_SECONDS = 400.0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(new_project("strolled", "typed", tmp_path_factory.mktemp("project") / "strolled"))


@pytest.fixture(scope="module")
def build_options(images: Images, project: Path) -> list[str]:
    """What a build needs that reaches no package index."""
    wheels = [f"--wheel={wheel}" for wheel in (images.own_wheel, *wheels_of(project))]
    arguments = [f"--build-arg={name}={value}" for name, value in FROM_VENDOR.items()]
    return [f"--base-image={BASE_IMAGE}", *arguments, *wheels]


@pytest.fixture(scope="module")
def image(engine: Engine, project: Path, build_options: list[str]) -> str:
    """The project's image, by the command."""
    run = openenv("build", project, *build_options, timeout=BUILD_SECONDS)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.fixture
def pools() -> Iterator[dict[str, str]]:
    """A folder for pools of the test's own, as environment variables."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield {"TMPDIR": folder}


@contextmanager
def running(*arguments: str | Path, folder: Path, pools: dict[str, str]) -> Iterator[tuple[RunningCommand, list[str]]]:
    """``openenv run``, and the three lines that it says of the server."""
    with running_openenv("run", *arguments, folder=folder, env=pools) as command:
        lines = [command.line() for _ in range(3)]
        assert lines[-1], command.errors()
        yield command, lines


def container_of(client: docker.DockerClient, pools: dict[str, str]) -> Any:
    (directory,) = Path(pools["TMPDIR"]).glob("openenv-gym-*")
    (found,) = client.containers.list(all=True, filters={"label": f"{POOL_LABEL}={directory.name}"})
    return found


def listed(pools: dict[str, str], id: str) -> dict[str, Any]:
    (told,) = [each for each in json.loads(openenv("ps", "--json", env=pools).stdout) if each["id"] == id]
    return dict(told)


def test_a_build_tells_its_image_and_shows_its_steps(
    engine: Engine, client: docker.DockerClient, project: Path, image: str, build_options: list[str]
) -> None:
    assert image == "openenv-strolled:0.1.0"
    run = openenv("build", project, "--json", *build_options, timeout=BUILD_SECONDS)
    told = json.loads(run.stdout)
    found = client.images.get(image)
    assert told == {"tag": image, "id": found.id, "size_bytes": found.attrs["Size"]}
    assert "Step 1/" in run.stderr


def test_a_build_that_fails_says_at_which_step(engine: Engine, project: Path) -> None:
    run = openenv("build", project, "--base-image", "localhost:9/no/such:image", "--tag", "openenv-failing:test")
    assert (run.returncode, run.stdout) == (1, "")
    assert "could not be built at step" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_project_without_an_image_is_built_and_run(
    engine: Engine,
    client: docker.DockerClient,
    project: Path,
    image: str,
    build_options: list[str],
    tmp_path: Path,
    pools: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client.images.remove(image)  # its layers stay in the builder's cache
    with running(project, *build_options, folder=tmp_path, pools=pools) as (command, (base_url, export, line)):
        assert "Step 1/" in command.errors()
        container = container_of(client, pools)
        made = container.attrs["HostConfig"]
        assert (made["ReadonlyRootfs"], made["CapDrop"], made["Memory"]) == (True, ["ALL"], 2**30)
        name, _, token = export.removeprefix("export ").partition("=")
        monkeypatch.setenv(name, token)
        assert base_url in line
        env = eval(line, {"gymnasium": gymnasium})
        env.reset(seed=1)
        assert env.step(1)[1] == 0.0
        env.close()
        assert eventually(lambda: "Uvicorn running" in command.errors())
        assert command.end() == 130
        with pytest.raises(docker.errors.NotFound):
            container.reload()


def test_an_image_runs_with_options_until_it_is_stopped(
    engine: Engine, client: docker.DockerClient, image: str, tmp_path: Path, pools: dict[str, str]
) -> None:
    options = ("--option", "memory=256m", "--option", 'labels={"team": "ours"}', "--set", "MAX_CONCURRENT_ENVS=3")
    with running(image, *options, folder=tmp_path, pools=pools) as (command, (base_url, _, _)):
        container = container_of(client, pools)
        assert container.attrs["HostConfig"]["Memory"] == 256 * 2**20
        assert container.labels["team"] == "ours"
        assert "MAX_CONCURRENT_ENVS=3" in container.attrs["Config"]["Env"]
        told = listed(pools, container.labels[SERVER_LABEL])
        assert (told["kind"], told["what"], told["base_url"]) == ("container", image, base_url)
        assert told["owner"].startswith(str(command.process.pid))
        unasked = openenv("stop", told["id"], env=pools)
        assert (unasked.returncode, unasked.stdout) == (2, "")
        asked = openenv("stop", container.name, "--yes", env=pools)
        assert (asked.returncode, asked.stdout) == (0, f"{told['id']}\n")
        assert command.process.wait(60) == 1
        assert "The container has ended" in command.errors()


def test_what_a_killed_program_left_is_reaped(
    engine: Engine, client: docker.DockerClient, image: str, tmp_path: Path, pools: dict[str, str]
) -> None:
    with running(image, folder=tmp_path, pools=pools) as (command, _):
        container = container_of(client, pools)
        id = container.labels[SERVER_LABEL]
        assert openenv("reap", env=pools).stdout == ""
        (directory,) = Path(pools["TMPDIR"]).glob("openenv-gym-*")
        # All at once, so that none of them can clean up.
        processes = [psutil.Process(command.process.pid), *watchdogs_of(directory), *keepers_of(directory)]
        for process in processes:
            process.suspend()
        for process in processes:
            os.kill(process.pid, signal.SIGKILL)
        assert all_end(processes)
        assert listed(pools, id)["state"] == "left over"
        removed = openenv("reap", env=pools).stdout.split()
        assert container.name in removed
        with pytest.raises(docker.errors.NotFound):
            container.reload()


def test_an_image_that_is_not_there_is_said_so(engine: Engine) -> None:
    run = openenv("run", "no-such-image:1", "--option", "pull=never")
    assert (run.returncode, run.stdout) == (1, "")
    assert "no-such-image:1" in run.stderr


def test_the_doctor_finds_the_engine(engine: Engine) -> None:
    run = openenv("doctor", "--need", "engine")
    assert run.returncode == 0, run.stdout
    assert engine.address in run.stdout
