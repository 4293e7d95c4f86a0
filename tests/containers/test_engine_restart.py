"""An engine that is restarted, or killed, while containers run: needs one of the test's own."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from openenv_gym.providers import pool
from openenv_gym.providers.location import pool_location
from openenv_gym.providers.watchdog_client import WatchdogClient
from tests.support.engine import Engine, EngineUnavailable, provide_base_image, running_engine
from tests.support.keeping import SERVE, kept, names_of

pytestmark = pytest.mark.containers

EXIT_SECONDS = 60.0


@pytest.fixture
def own_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine that may be restarted; without a network, which it would share with the other tests' engine."""
    try:
        with running_engine("--bridge=none", "--iptables=false", data_size="2g") as running:
            provide_base_image(running)
            monkeypatch.setenv("DOCKER_HOST", running.address)
            yield running
            pool.shutdown()
    except EngineUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def own_client(own_engine: Engine) -> Iterator[docker.DockerClient]:
    opened = own_engine.client()
    yield opened
    opened.close()


def test_a_restart_of_the_engine_ends_its_servers_and_leaves_nothing(
    own_engine: Engine, own_client: docker.DockerClient
) -> None:
    held: list[WatchdogClient] = [kept(own_client, SERVE, network_mode="none")[0] for _ in range(3)]
    directory = pool_location().directory
    own_engine.restart()
    assert all(owner.exit_code(EXIT_SECONDS) is not None for owner in held)
    assert names_of(own_client, directory) == set()
    owner, _ = kept(own_client, SERVE, network_mode="none")
    assert owner.is_running(0.0)
    owner.stop()
