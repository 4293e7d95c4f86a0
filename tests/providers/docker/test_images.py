from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError, ProviderError

from openenv_gym.providers.docker.engine import refused
from openenv_gym.providers.docker.images import check_image_name, facts_of, with_remedy


def attributes(**config: Any) -> dict[str, Any]:
    return {"Id": "sha256:1", "Os": "linux", "Architecture": "arm64", "Variant": "v8", "Config": config}


def test_an_image_of_a_registry_has_its_digest_and_one_that_was_built_here_its_id() -> None:
    assert facts_of("x", attributes()).digest == "sha256:1"
    pulled = facts_of("x", {**attributes(), "RepoDigests": ["team/x@sha256:2"]})
    assert (pulled.id, pulled.digest) == ("sha256:1", "team/x@sha256:2")


@pytest.mark.parametrize(
    ("exposed", "expected"),
    [
        (None, None),
        ({}, None),
        ({"80/tcp": {}}, 80),
        ({"80/tcp": {}, "53/udp": {}}, 80),
        ({"80/tcp": {}, "81/tcp": {}}, None),
    ],
)
def test_the_port_is_the_only_one_it_exposes(exposed: dict[str, Any] | None, expected: int | None) -> None:
    assert facts_of("x", attributes(ExposedPorts=exposed)).port == expected


def test_user_and_platform_are_read() -> None:
    facts = facts_of("x", attributes(User="app"))
    assert (facts.name, facts.user, facts.platform) == ("x", "app", "linux/arm64/v8")
    assert facts_of("x", {"Id": "sha256:1", "Config": None}).user == ""


@pytest.mark.parametrize(
    ("name", "login"),
    [
        ("echo:1", "`docker login`"),
        ("team/echo:1", "`docker login`"),
        ("localhost/echo", "`docker login localhost`"),
        ("registry.hf.space/team-echo:latest", "`docker login registry.hf.space`"),
        ("gpu-box:5000/echo:1", "`docker login gpu-box:5000`"),
    ],
)
def test_a_denied_pull_names_the_registry_to_log_in_to(name: str, login: str) -> None:
    denied = with_remedy(name, ProviderError("It could not be fetched: pull access denied."))
    assert login in denied.message


def test_a_full_disk_is_told_as_such_also_while_fetching() -> None:
    told = refused("It could not be fetched", "write /var/lib/docker/tmp/x: no space left on device")
    assert with_remedy("echo:1", told) is told
    assert "disk is full" in told.message


@pytest.mark.parametrize(
    "name",
    [
        "openenv-echo:0.1.0",
        "Registry.example:5000/team/echo",
        "registry.hf.space/owner-name:latest",
        "127.0.0.1:5000/team/a__b.c-d:1",
        f"team/echo@sha256:{'a' * 64}",
        f"sha256:{'0' * 64}",
        "0123456789ab",
    ],
)
def test_an_image_may_be_called_as_registries_and_engines_do(name: str) -> None:
    check_image_name(name)


@pytest.mark.parametrize(
    "name", ["../containers/json", "Echo Image", "echo:1\n", "a/../b", "echo?all=1", "/echo", "-echo", "a" * 2000, ""]
)
def test_what_is_no_images_name_does_not_reach_the_engine(name: str) -> None:
    with pytest.raises(ConfigurationError, match="lower case"):
        check_image_name(name)
