"""What the docker provider decides before it asks an engine for anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError, UnknownOption

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.docker import DockerProvider
from openenv_gym.providers.pool import provider_named


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")


def request(image: str | None = "echo:1", path: Path | None = None, **options: Any) -> ServerRequest:
    """A request for a container."""
    return ServerRequest(
        provider="docker", image=image, path=None if path is None else str(path), options=tuple(options.items())
    )


def key(asked: ServerRequest) -> str:
    """The key by which requests share a server."""
    return DockerProvider().sharing_key(asked)


def test_it_is_known_by_name() -> None:
    assert isinstance(provider_named("docker"), DockerProvider)


def test_a_request_that_can_be_right_is_let_pass_without_an_engine(tmp_path: Path) -> None:
    DockerProvider().check(request())
    DockerProvider().check(request(image=None, path=tmp_path))


@pytest.mark.parametrize(
    ("options", "nearest"), [({"mem": "1g"}, "memory"), ({"volume": {}}, "volumes"), ({"gpu": 1}, "gpus")]
)
def test_an_unknown_option_names_the_nearest(options: dict[str, Any], nearest: str) -> None:
    with pytest.raises(UnknownOption, match=f"Did you mean '{nearest}'"):
        DockerProvider().check(request(**options))


def test_the_image_of_a_folder_is_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="pull='always' needs image="):
        DockerProvider().check(request(image=None, path=tmp_path, pull="always"))


def test_an_unknown_choice_names_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'compat'"):
        DockerProvider().check(request(hardening="compatible"))


def test_the_engines_socket_is_no_volume() -> None:
    with pytest.raises(ConfigurationError, match="socket"):
        DockerProvider().check(request(volumes={"/nowhere": "/x"}))


@pytest.mark.parametrize("port", ["70000", "true", "http"])
def test_a_port_in_the_manifest_that_is_none_is_refused(tmp_path: Path, port: str) -> None:
    (tmp_path / "openenv.yaml").write_text(f"name: x\nport: {port}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="port"):
        DockerProvider().check(request(path=tmp_path))


def test_an_engine_elsewhere_needs_an_address_to_publish_at_unless_nothing_is_published() -> None:
    with pytest.raises(ConfigurationError, match="bind_address="):
        DockerProvider().check(request(engine="ssh://me@gpu-box"))
    DockerProvider().check(request(engine="ssh://me@gpu-box", bind_address="10.1.2.3"))


def test_how_long_somebody_waits_makes_no_other_server() -> None:
    assert key(request(start_timeout=5)) == key(request())
    assert DockerProvider().start_seconds(request(start_timeout=5)) == 5
    assert DockerProvider().start_seconds(request()) is None


def test_whatever_else_is_asked_for_makes_another_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = [
        request(),
        request(image="echo:2"),
        request(memory="2g"),
        request(volumes={"/a": "/b"}),
        request(engine="unix:///other.sock"),
        request(image=None, path=tmp_path),
        ServerRequest(provider="docker", image="echo:1", settings=(("LEVEL", "1"),)),
    ]
    assert len({key(each) for each in asked}) == len(asked)
    before = key(request())
    monkeypatch.setenv("DOCKER_HOST", "unix:///other.sock")
    assert key(request()) == key(request(engine="unix:///other.sock")) != before


def test_options_in_another_order_are_the_same() -> None:
    assert key(request(labels={"a": "1", "b": "2"}, pids=9)) == key(request(pids=9, labels={"b": "2", "a": "1"}))


@pytest.mark.parametrize("address", ["10.1.2.3", "0.0.0.0", "::"])
def test_no_server_without_a_token_is_published_to_others(address: str) -> None:
    asked = ServerRequest(
        provider="docker",
        image="echo:1",
        options=(("bind_address", address),),
        settings=(("OPENENV_GYM_TOKEN", ""),),
    )
    with pytest.raises(ConfigurationError, match="without a token"):
        DockerProvider().check(asked)


def test_a_server_without_a_token_on_loopback_is_nobody_elses_business() -> None:
    for options in ((), (("bind_address", "127.0.0.2"),)):
        asked = ServerRequest(provider="docker", image="echo:1", options=options, settings=(("OPENENV_GYM_TOKEN", ""),))
        DockerProvider().check(asked)


def test_an_image_by_a_name_that_is_none_is_refused_before_an_engine_is_asked() -> None:
    with pytest.raises(ConfigurationError, match="no image's name"):
        DockerProvider().check(request(image="../containers/json"))


def test_of_what_only_one_can_have_there_is_one() -> None:
    assert DockerProvider().only_one(request()) is None
    assert DockerProvider().only_one(request(container_name="mine")) == "container_name"
    assert DockerProvider().only_one(request(host_port=9000)) == "host_port"
