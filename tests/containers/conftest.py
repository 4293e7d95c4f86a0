"""A real Docker engine of the tests' own; every test leaves nothing in it."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from openenv_gym.providers import pool
from tests.support.containers import build_obedient_image, of_this_pool, runsc_arguments
from tests.support.engine import Engine, EngineUnavailable, provide_base_image, running_engine
from tests.support.project_images import Images


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A running engine that has the base image; ``DOCKER_HOST`` names it as long as it runs."""
    try:
        arguments = runsc_arguments(tmp_path_factory.mktemp("runsc"))
        with running_engine(*arguments) as running, pytest.MonkeyPatch.context() as patch:
            provide_base_image(running)
            patch.setenv("DOCKER_HOST", running.address)
            yield running
    except EngineUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def client(engine: Engine) -> Iterator[docker.DockerClient]:
    """A client of the engine."""
    opened = engine.client()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def server_image(client: docker.DockerClient) -> str:
    """The name of an image whose server does as it is told."""
    return build_obedient_image(client)


@pytest.fixture(scope="session")
def images(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Images:
    """The images of environment projects, each built when it is first asked for."""
    return Images(engine, tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="session")
def stock_image(images: Images) -> str:
    """The name of an image in which the real openenv 0.10.0 serves a counter."""
    return images.stock().tag


@pytest.fixture(autouse=True)
def _nothing_is_left_after_a_test(engine: Engine) -> Iterator[None]:
    yield
    pool.shutdown()
    assert list(of_this_pool(engine)) == []
