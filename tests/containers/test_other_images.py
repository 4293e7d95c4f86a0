"""By ``make test-images``: the images that ``make test`` does not build, and what a build may be told."""

from __future__ import annotations

import functools
import http.server
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import docker
import gymnasium
import numpy as np
import pytest
from openenv_gym_registry.manifest import read_manifest

from openenv_gym.bridge.wires import Wire
from openenv_gym.providers.docker import build_image
from tests.support.engine import BASE_IMAGE, Engine
from tests.support.environments import actions_of
from tests.support.loopback import served
from tests.support.project_images import BUNDLED, FROM_VENDOR, Images, wheelhouse, wheels_of

pytestmark = [pytest.mark.images, pytest.mark.timeout(900)]

IN_MAKE_TEST = {"echo", "blackjack", "gymnasium"}

OTHERS = sorted({path.parent.name for path in BUNDLED.glob("*/openenv.yaml")} - IN_MAKE_TEST)


@pytest.mark.parametrize("name", OTHERS)
def test_a_project_is_built_and_driven_in_its_container(images: Images, name: str) -> None:
    images.bundled(name)
    for wire in get_args(Wire):
        env = gymnasium.make(read_manifest(BUNDLED / name).gymnasium_id, provider="docker", wire=wire)
        draw = actions_of(env.action_space, seed=1)
        observation, info = env.reset(seed=1)
        for _ in range(30):
            assert observation in env.observation_space
            observation, _, terminated, truncated, info = env.step(draw(info))
            if terminated or truncated:
                observation, info = env.reset()
        env.close()


@pytest.fixture
def index(images: Images, tmp_path: Path) -> Iterator[str]:
    """The address of a package index that has what the bundled projects need, and ours."""
    for wheel in [images.own_wheel, *wheels_of(BUNDLED / "echo")]:
        page = tmp_path / "simple" / wheel.name.partition("-")[0].replace("_", "-").lower()
        page.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, page)
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with served(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)) as address:
        yield f"http://{address}/simple"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def test_an_index_of_ones_own_serves_a_build(engine: Engine, index: str, client: docker.DockerClient) -> None:
    built = build_image(
        BUNDLED / "echo",
        tag="openenv-echo:index",
        base_image=BASE_IMAGE,
        build_args={"PIP_INDEX_URL": index},
        network="host",
    )
    # Where it was built is nobody's business who gets the image.
    history = client.images.get(built.tag).history()
    assert [layer["CreatedBy"] for layer in history if index in layer["CreatedBy"]] == []


def test_more_packages_are_installed_on_request(engine: Engine, images: Images, client: docker.DockerClient) -> None:
    built = build_image(
        BUNDLED / "gymnasium",
        tag="openenv-gymnasium:more",
        base_image=BASE_IMAGE,
        build_args={**FROM_VENDOR, "PACKAGES": "pygame>=2.6"},
        wheels=[images.own_wheel, *wheels_of(BUNDLED / "gymnasium"), *wheelhouse(["pygame>=2.6"])],
    )
    program = "import pygame; print(pygame.version.ver)"
    assert b"2." in client.containers.run(built.tag, ["python", "-c", program], remove=True)
    env = gymnasium.make("openenv/CartPole-v1", provider="docker", image=built.tag, render_mode="rgb_array")
    env.reset(seed=1)
    assert np.shape(env.render()) == (400, 600, 3)  # type: ignore[arg-type]
    env.close()
