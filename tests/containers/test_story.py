"""The steps of the README's story that need an engine: the build, and that what was pushed can be built by others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from openenv_gym_cli.scaffold import make_project, new_project

from tests.support.command import openenv
from tests.support.engine import BASE_IMAGE, Engine
from tests.support.hub.server import running_hub
from tests.support.hub.state import OWNER_TOKEN
from tests.support.image_registry import ImageRegistry, image_registry
from tests.support.project_images import FROM_VENDOR, Images, wheels_of
from tests.support.story import named

pytestmark = [pytest.mark.containers, pytest.mark.timeout(600)]

BUILD_SECONDS = 400.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    name = named("init")[1]
    make_project(new_project(name, "typed", folder / name))
    return folder


@pytest.fixture(scope="module")
def build_options(images: Images, home: Path) -> list[str]:
    """What a build needs that reaches no package index; our own wheel it gets by itself."""
    wheels = [f"--wheel={wheel}" for wheel in wheels_of(home / named("init")[1])]
    arguments = [f"--build-arg={name}={value}" for name, value in FROM_VENDOR.items()]
    return [f"--base-image={BASE_IMAGE}", *arguments, *wheels]


@pytest.fixture(scope="module")
def image(engine: Engine, home: Path, build_options: list[str]) -> str:
    built = openenv(*named("build"), *build_options, cwd=home, timeout=BUILD_SECONDS)
    assert built.returncode == 0, built.stderr
    return built.stdout.strip()


@pytest.fixture
def registry() -> Iterator[ImageRegistry]:
    with image_registry() as running:
        yield running


def steps(image: str) -> None:
    with gymnasium.make("openenv_gym:openenv/Remote-v0", image=image, provider="docker") as env:
        env.reset(seed=1)
        observation, *_ = env.step(env.action_space.sample())
        assert observation in env.observation_space


def test_what_was_made_is_built_and_steps(image: str) -> None:
    assert image == "openenv-my_game:0.1.0"
    steps(image)


def test_what_was_pushed_is_built_by_the_dockerfile_at_its_top_and_steps(
    engine: Engine, home: Path, build_options: list[str], tmp_path: Path
) -> None:
    with running_hub() as hub:
        env = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "OPENENV_GYM_CACHE": str(tmp_path / "cache")}
        target = ("--space", "ann/my_game", "--yes", "--no-wait")
        pushed = openenv("push", "my_game", *target, cwd=home, env={**env, "HF_TOKEN": OWNER_TOKEN})
        assert pushed.returncode == 0, pushed.stderr
        pulled = openenv("pull", "ann/my_game", "pulled", cwd=tmp_path, env=env)
        assert pulled.returncode == 0, pulled.stderr
    (tmp_path / "pulled" / "server" / "Dockerfile").unlink()  # the Hub takes the one at the top
    tag = "openenv-pulled:test"
    built = openenv("build", "pulled", "--tag", tag, *build_options, cwd=tmp_path, timeout=BUILD_SECONDS)
    assert built.returncode == 0, built.stderr
    steps(tag)


def test_a_built_image_is_pushed_to_a_registry(image: str, home: Path, registry: ImageRegistry) -> None:
    pushed = openenv("push", "my_game", "--registry", f"{registry.host}/team", "--yes", "--json", cwd=home)
    assert pushed.returncode == 0, pushed.stderr
    told = json.loads(pushed.stdout)
    assert told["image"] == f"{registry.host}/team/{image}"
    manifest = json.loads(registry.manifests[f"team/{image}"])
    assert {layer["digest"] for layer in manifest["layers"]} <= registry.blobs.keys()
    assert told["digest"].removeprefix(f"{registry.host}/") in registry.manifests


def test_a_registry_that_refuses_is_told_with_what_to_do(image: str, home: Path, registry: ImageRegistry) -> None:
    pushed = openenv("push", "my_game", "--registry", f"{registry.host}/closed", "--yes", cwd=home)
    assert (pushed.returncode, pushed.stdout, registry.manifests) == (1, "", {})
    assert f"docker login {registry.host}" in pushed.stderr


def test_an_image_that_was_not_built_is_not_pushed(engine: Engine, tmp_path: Path) -> None:
    make_project(new_project("unbuilt", "typed", tmp_path / "unbuilt"))
    pushed = openenv("push", "unbuilt", "--registry", "127.0.0.1:9", "--yes", cwd=tmp_path)
    assert (pushed.returncode, pushed.stdout) == (1, "")
    assert "`openenv build` makes it" in pushed.stderr
