from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from openenv_gym.providers import pool
from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.docker import DockerProvider
from openenv_gym.testing.provider_contract import ProviderContract
from tests.support.containers import inside, obedient, of_this_pool, started
from tests.support.engine import Engine

pytestmark = [pytest.mark.containers, pytest.mark.usefixtures("server_image")]


class TestDockerProvider(ProviderContract):
    # Long enough for a container to start and write its first line.
    give_up_seconds = 10.0

    def provider(self) -> DockerProvider:
        return DockerProvider()

    def request(self) -> ServerRequest:
        return obedient()

    def request_that_dies(self) -> ServerRequest:
        return obedient(SERVER_EXIT="3")

    def request_that_never_answers(self) -> ServerRequest:
        return obedient(SERVER_HEALTH="503")


def test_the_port_of_the_project_is_published(tmp_path: Path) -> None:
    (tmp_path / "openenv.yaml").write_text("name: maze_env\nport: 9002\n", encoding="utf-8")
    request = replace(obedient(SERVER_PORT="9002"), path=str(tmp_path))
    assert inside(started(request), "result = 'lives'") == "lives"


def test_another_address_is_published_on_request() -> None:
    server = started(obedient(options={"bind_address": "127.0.0.2"}))
    assert server.base_url.startswith("http://127.0.0.2:")
    assert inside(server, "result = 'lives'") == "lives"


def test_those_who_ask_for_the_same_share_a_container(engine: Engine) -> None:
    first, second, other = pool.lease(obedient()), pool.lease(obedient()), pool.lease(obedient(LEVEL="2"))
    assert first.server_id == second.server_id != other.server_id
    assert first.token == second.token != other.token
    assert len(list(of_this_pool(engine))) == 2
