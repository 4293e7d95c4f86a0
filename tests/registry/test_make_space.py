"""Spaces by their ids: found on the Hub, woken, and played without any of their code."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from openenv_gym_protocol.errors import ConfigurationError, ServerStartError, SpaceNotFound, UnknownOption
from openenv_gym_registry.projects import bundled_project

import openenv_gym
from openenv_gym.client import GenericEnvClient
from tests.support.hub.spaces import hub_for, served_space
from tests.support.hub.state import OWNER_TOKEN, HubState
from tests.support.servers import ROOT, RunningServer, running_server

TOKEN = "of-the-environment"


@pytest.fixture(scope="module")
def echo() -> Iterator[RunningServer]:
    with running_server("server.app:app", cwd=bundled_project("echo")) as server:
        yield server


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubState]:
    with hub_for(monkeypatch, tmp_path) as running:
        yield running


@pytest.fixture(autouse=True)
def _registry_as_before() -> Iterator[None]:
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def said_by(env: Any) -> Any:
    env.reset(seed=1)
    observation = env.step({"tool_name": "echo_message", "arguments": {"message": "hello"}})[0]
    env.close()
    return observation["result"]


@pytest.mark.parametrize(
    ("id", "keywords"),
    [
        ("openenv/echo_env", {}),
        ("openenv/Space-v0", {"space": "openenv/echo_env"}),
        ("openenv/Space-v0", {"space": "https://huggingface.co/spaces/openenv/echo_env"}),
        ("openenv/echo_env", {"provider": {"start_timeout": 20}}),
        ("openenv/echo_env", {"provider": "space", "revision": "main"}),
    ],
)
def test_a_sleeping_space_is_woken_and_played(
    hub: HubState, echo: RunningServer, id: str, keywords: dict[str, Any]
) -> None:
    with served_space(hub, "openenv/echo_env", echo.base_url, ["page", "drop"], asleep=True) as front:
        env = gymnasium.make(id, **keywords)
        assert env.unwrapped.server == front.url  # type: ignore[attr-defined]
        assert "hello" in said_by(env)


def test_lanes_share_a_space(hub: HubState, echo: RunningServer) -> None:
    with served_space(hub, "openenv/echo_env", echo.base_url):
        envs = gymnasium.make_vec("openenv/echo_env", num_envs=3)
        observations, _ = envs.reset(seed=1)
        assert observations["result"] == ("null",) * 3
        envs.close()
        with pytest.raises(ConfigurationError, match="only one can have space"):
            gymnasium.make_vec("openenv/echo_env", num_envs=3, sessions_per_server=2)


def test_a_space_is_registered_by_its_name(hub: HubState, echo: RunningServer) -> None:
    assert openenv_gym.register_space("someone/My_Echo.env") == "openenv/someone.My_Echo.env"
    assert openenv_gym.register_space("https://someone-else.hf.space") == "openenv/someone-else"
    assert gymnasium.spec("openenv/someone-else").kwargs == {"space": "https://someone-else.hf.space"}
    assert hub.asked == []
    with served_space(hub, "someone/My_Echo.env", echo.base_url):
        assert "hello" in said_by(gymnasium.make("openenv/someone.My_Echo.env"))


def test_registering_again_takes_the_newest_revision() -> None:
    openenv_gym.register_space("someone/echo@v1")
    assert gymnasium.spec("openenv/someone.echo").kwargs == {"space": "someone/echo", "revision": "v1"}
    assert openenv_gym.register_space("someone/echo", revision="v2") == "openenv/someone.echo"
    assert gymnasium.spec("openenv/someone.echo").kwargs["revision"] == "v2"
    assert openenv_gym.register_space("someone/echo", id="mine/Echo-v0") == "mine/Echo-v0"


@pytest.mark.parametrize(
    ("space", "keywords"),
    [
        ("https://evil.example/spaces/a/b", {}),
        ("../a", {}),
        ("a/b@v1", {"revision": "v2"}),
        ("a/b", {"revision": "../x"}),
        ("https://a-b.hf.space", {"revision": "v1"}),
        ("a/b", {"id": "openenv/Echo-v0"}),
    ],
)
def test_what_cannot_be_registered_is_refused(space: str, keywords: dict[str, str]) -> None:
    before = dict(gymnasium.registry)
    with pytest.raises(ConfigurationError):
        openenv_gym.register_space(space, **keywords)
    assert dict(gymnasium.registry) == before


def test_the_environments_own_token_stands_beside_the_hubs(hub: HubState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    monkeypatch.setenv("ECHO_TOKEN", TOKEN)
    settings = {"OPENENV_GYM_TOKEN": TOKEN}
    with (
        running_server("server.app:app", cwd=bundled_project("echo"), env=settings) as server,
        served_space(hub, "openenv/secret", server.base_url, private=True) as front,
    ):
        env = gymnasium.make("openenv/Space-v0", space="openenv/secret", token="env:ECHO_TOKEN")
        assert "hello" in said_by(env)
        assert env.spec is not None
        assert TOKEN not in env.spec.to_json()
        assert OWNER_TOKEN not in env.spec.to_json()
        upgrade = next(head.lower() for head in front.heads if "get /ws" in head.lower())
        assert f"authorization: bearer {OWNER_TOKEN.lower()}" in upgrade
        assert f"x-openenv-token: {TOKEN}" in upgrade


@pytest.mark.parametrize(
    ("keywords", "error", "said"),
    [
        ({}, ConfigurationError, "space="),
        ({"space": "echo"}, ConfigurationError, "owner/name"),
        ({"space": "a/b", "token": "literal"}, ConfigurationError, "env:NAME"),
        ({"space": "a/b", "provider": "docker"}, ConfigurationError, "openenv pull"),
        ({"space": "a/b", "settings": {"A": "b"}}, ConfigurationError, "settings"),
        ({"space": "a/b", "base_url": "http://x", "revision": "v1"}, ConfigurationError, "revision"),
        ({"space": "a/b", "revison": "v1"}, UnknownOption, "revision"),
        ({"space": "a/b", "provider": {"start_timeuot": 1}}, UnknownOption, "start_timeout"),
    ],
)
def test_keywords_that_cannot_be_right_are_refused_before_anybody_is_asked(
    hub: HubState, keywords: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        gymnasium.make("openenv/Space-v0", **keywords)
    assert hub.asked == []


def test_what_the_hub_says_reaches_whoever_makes(hub: HubState) -> None:
    with pytest.raises(SpaceNotFound, match="someone/none"):
        gymnasium.make("openenv/Space-v0", space="someone/none")
    hub.add("someone/paused").runtime["stage"] = "PAUSED"
    with pytest.raises(ServerStartError, match="PAUSED"):
        gymnasium.make("openenv/Space-v0", space="someone/paused")


def test_a_space_that_does_not_wake_is_given_up_in_time(hub: HubState, echo: RunningServer) -> None:
    with (
        served_space(hub, "openenv/echo_env", echo.base_url, itertools.repeat("page"), asleep=True),
        pytest.raises(ServerStartError, match=r"within 5 s.*APP_STARTING"),
    ):
        gymnasium.make("openenv/echo_env", timeouts={"start": 5.0})


def test_a_space_is_played_where_an_address_says(hub: HubState, echo: RunningServer) -> None:
    assert "hello" in said_by(gymnasium.make("openenv/echo_env", base_url=echo.base_url))
    assert hub.asked == []


def test_the_place_of_a_space_is_said_once(hub: HubState) -> None:
    with pytest.raises(ConfigurationError, match="provider='space'"):
        openenv_gym.RemoteEnv("http://x", provider={"name": "space", "space": "a/b"})


def test_a_client_is_had_by_the_name_of_a_space(hub: HubState, echo: RunningServer) -> None:
    async def play() -> None:
        with served_space(hub, "openenv/echo_env", echo.base_url, ["page", "cut"], asleep=True):
            async with GenericEnvClient.from_env("openenv/echo_env") as client:
                result = await client.reset(seed=1)
                assert result.done is False
                schema = await client.schema()
                assert "tool_name" in schema.action["properties"]
            sync = GenericEnvClient.from_env("openenv/echo_env", revision="main").sync()
            with sync as twin:
                assert twin.reset(seed=1).observation

    asyncio.run(play())


def test_a_client_of_a_private_space_sends_both_tokens(hub: HubState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORK_TOKEN", OWNER_TOKEN)
    settings = {"OPENENV_GYM_TOKEN": TOKEN}
    with (
        running_server("server.app:app", cwd=bundled_project("echo"), env=settings) as server,
        served_space(hub, "openenv/secret", server.base_url, private=True),
        GenericEnvClient.from_env("openenv/secret", hub_token="env:WORK_TOKEN", token=TOKEN).sync() as client,
    ):
        assert client.reset(seed=1).done is False


def test_a_client_refuses_what_cannot_be_right_before_anybody_is_asked(hub: HubState) -> None:
    for keywords in ({"space": "echo"}, {"space": "a/b", "revision": ".."}, {"space": "a/b", "timeouts": {"start": 0}}):
        with pytest.raises(ConfigurationError):
            GenericEnvClient.from_env(**keywords)
    with pytest.raises(TypeError):
        GenericEnvClient.from_env("a/b", use_docker=True)
    assert hub.asked == []


def test_playing_a_space_needs_no_huggingface_hub(hub: HubState, echo: RunningServer) -> None:
    code = (
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'huggingface_hub': raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Without())\n"
        "import gymnasium, openenv_gym\n"
        "env = gymnasium.make('openenv/echo_env')\n"
        "print(env.reset(seed=1)[0]['result'])\n"
        "env.close()\n"
        "try:\n"
        "    from openenv_gym_registry.search import search; search('echo')\n"
        "except openenv_gym.errors.ProviderError as error: print(error)\n"
    )
    with served_space(hub, "openenv/echo_env", echo.base_url):
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    assert run.stdout.splitlines() == [
        "null",
        'Asking the Hub needs huggingface_hub: pip install "openenv-gym[hub]".',
    ], run.stderr
