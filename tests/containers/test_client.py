"""Clients with a container of their own."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys

import pytest
from blackjack_env import BlackjackAction, BlackjackEnv
from openenv_gym_protocol import errors

from openenv_gym.client import GenericEnvClient
from tests.support.containers import of_this_pool
from tests.support.engine import Engine
from tests.support.pools import eventually
from tests.support.project_images import Images

pytestmark = [pytest.mark.containers, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def image(images: Images) -> str:
    return images.bundled("blackjack").tag


def test_awaited_it_plays_and_its_container_ends_with_it(engine: Engine, image: str) -> None:
    async def play() -> None:
        starting = BlackjackEnv.from_docker_image(image, {"memory": "256m"})
        assert list(of_this_pool(engine)) == []
        env = await starting
        assert (await env.reset(seed=7)).observation.hand == (19, 10, 0)
        assert (await env.step(BlackjackAction(action=0))).done
        assert len(list(of_this_pool(engine))) == 1
        await env.close()
        assert list(of_this_pool(engine)) == [], "it is gone when close() returns"

    asyncio.run(play())


def test_each_has_a_container_of_its_own_in_plain_code_too(engine: Engine, image: str) -> None:
    with (
        GenericEnvClient.from_docker_image(image).sync() as first,
        GenericEnvClient.from_docker_image(image).sync() as second,
    ):
        assert first.base_url != second.base_url
        assert len(list(of_this_pool(engine))) == 2
        assert first.reset(seed=7).observation == second.reset(seed=7).observation
        twin = second.new_session()
        assert twin.reset(seed=7).observation["hand"] == [19, 10, 0]
    assert list(of_this_pool(engine)) == []


def test_async_with_ends_it_after_an_error_too(engine: Engine, image: str) -> None:
    async def play() -> None:
        async with BlackjackEnv.from_docker_image(image) as env:
            await env.reset()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(play())
    assert list(of_this_pool(engine)) == []


def test_a_client_that_is_forgotten_loses_its_container(engine: Engine, image: str) -> None:
    env = GenericEnvClient.from_docker_image(image).sync()
    env.reset()
    assert len(list(of_this_pool(engine))) == 1
    del env
    gc.collect()
    assert eventually(lambda: not list(of_this_pool(engine)), within=30)


def test_a_container_that_does_not_start_tells_why_and_is_removed(engine: Engine, image: str) -> None:
    options = {"command": ["python", "-c", "raise SystemExit('no game today')"]}
    with pytest.raises(errors.ServerStartError, match="no game today"):
        BlackjackEnv.from_docker_image(image, options).sync()
    assert eventually(lambda: not list(of_this_pool(engine)), within=30)


def test_settings_reach_the_container(engine: Engine, image: str) -> None:
    settings = {"OPENENV_GYM_TOKEN": ""}  # which asks for none
    with (
        GenericEnvClient.from_docker_image(image, settings=settings).sync() as env,
        GenericEnvClient(env.base_url).sync() as without_token,
    ):
        assert without_token.reset().observation["hand"]


_PROGRAM = """
import sys
from openenv_gym import GenericEnvClient
env = GenericEnvClient.from_docker_image(sys.argv[1]).sync()
env.reset()
print(env.base_url, flush=True)
sys.stdin.read()
"""


def test_it_ends_with_a_process_that_is_killed(engine: Engine, image: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, image], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        client = engine.client()
        published = base_url.rpartition(":")[2]

        def runs() -> bool:
            listed = client.api.containers()
            return any(str(port.get("PublicPort")) == published for each in listed for port in each["Ports"])

        assert runs()
        process.kill()
    assert eventually(lambda: not runs(), within=30)
    client.close()
