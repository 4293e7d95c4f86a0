"""Keywords say where lanes run; what cannot be is refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol import errors

from openenv_gym.bridge.servers.making import make_servers
from openenv_gym.transports.timeouts import Timeouts
from tests.support.pools import PROJECTS

NO_PLACE: dict[str, Any] = {
    **{"base_url": None, "path": None, "image": None, "provider": None},
    **{"token": None, "settings": None, "timeouts": Timeouts()},
}


def test_lanes_are_dealt_to_the_given_servers_in_turn_or_in_blocks() -> None:
    urls = ["http://one:1", "http://two:2"]
    dealt = make_servers(**{**NO_PLACE, "base_url": urls})
    blocks = make_servers(**{**NO_PLACE, "base_url": urls, "sessions_per_server": 3})
    assert [server.base_url for server in dealt.of(range(4))] == [*urls, *urls]
    assert [blocks.index_of(lane) for lane in range(6)] == [0, 0, 0, 1, 1, 1]
    blocks.check(6)
    with pytest.raises(errors.ConfigurationError):
        blocks.check(7)


def test_a_token_is_read_from_the_environment_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = make_servers(**{**NO_PLACE, "base_url": "http://one:1", "token": "env:SOURCE_TEST_TOKEN"})
    monkeypatch.setenv("SOURCE_TEST_TOKEN", "secret")
    (server,) = servers.of([0])
    assert server.options.token == "secret"
    assert "secret" not in repr(server)


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"base_url": []},
        {"base_url": "http://one:1", "provider": "process"},
        {"path": "/no/such/folder"},
        {"path": str(PROJECTS / "plain"), "provider": "cloud"},
        {"path": str(PROJECTS / "plain"), "settings": {"A": 1}},
        {"path": str(PROJECTS / "plain"), "provider": {"linger": "x"}},
        {"path": str(PROJECTS / "plain"), "provider": {"linger": -1}},
        {"path": str(PROJECTS / "plain"), "provider": {"spares": -1}},
        {"path": str(PROJECTS / "plain"), "provider": {"spares": True}},
        {"path": str(PROJECTS / "plain"), "provider": "process", "image": "plain:1"},
        {"path": str(PROJECTS / "plain"), "base_url": "http://one:1"},
        {"path": str(PROJECTS / "plain"), "provider": {"name": 3}},
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(keywords: dict[str, Any]) -> None:
    with pytest.raises(errors.ConfigurationError):
        make_servers(**{**NO_PLACE, **keywords})


def test_an_unknown_option_of_the_provider_is_named() -> None:
    with pytest.raises(errors.UnknownOption, match=r"pyton.*python"):
        make_servers(**{**NO_PLACE, "path": str(PROJECTS / "plain"), "provider": {"pyton": "x"}})


@pytest.mark.parametrize("option", [{"container_name": "mine"}, {"host_port": 9000}])
def test_what_only_one_server_can_have_is_refused_for_several(
    option: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    image = {**NO_PLACE, "image": "echo:1"}
    servers = make_servers(**{**image, "provider": option, "sessions_per_server": 2})
    servers.check(2)
    with pytest.raises(errors.ConfigurationError, match=rf"only one can have {next(iter(option))}=. Raise sess"):
        servers.check(3)
    with pytest.raises(errors.ConfigurationError, match=r"A spare is a second server.*Leave spares= out"):
        make_servers(**{**image, "provider": {**option, "spares": 1}})
    make_servers(**{**image, "provider": {"memory": "1g"}, "sessions_per_server": 2}).check(3)
