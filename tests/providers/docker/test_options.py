from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.docker.options import (
    DockerOptions,
    is_root,
    refuse_engine_sockets,
    size_in_bytes,
    volume_place,
)
from openenv_gym.providers.options import read_options

HERE = "unix:///var/run/docker.sock"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"memory": "lots"}, "memory"),
        ({"memory": "1m"}, "at least 6m"),
        ({"shm_size": "1 g"}, "shm_size"),
        ({"cpus": 0.0}, "cpus"),
        ({"pids": 0}, "pids"),
        ({"ttl": -1.0}, "ttl"),
        ({"start_timeout": 0.0}, "start_timeout"),
        ({"port": 0}, "port"),
        ({"host_port": 70_000}, "host_port"),
        ({"container_name": "my container"}, "container_name"),
        ({"platform": "arm"}, "linux/amd64"),
        ({"gpus": "some"}, "gpus"),
        ({"gpus": 0}, "gpus"),
        ({"command": []}, "command"),
        ({"user": "root"}, "hardening='compat'"),
        ({"user": "0:1000"}, "hardening='compat'"),
        ({"labels": {"openenv-gym.pool": "x"}}, "openenv-gym.pool"),
        ({"volumes": {"levels": "/levels"}}, "absolute path on the engine's machine"),
        ({"volumes": {"/data": "levels"}}, "'levels'"),
        ({"volumes": {"/data": "/levels:z"}}, ":ro or :rw"),
        ({"volumes": {"/data": "/"}}, "below its root"),
        ({"volumes": {"/data": "/levels/../etc"}}, "below its root"),
        ({"volumes": {"/data": "/cache"}, "tmpfs": {"/cache": ""}}, "the same folder"),
        ({"tmpfs": {"cache": ""}}, "'cache'"),
        ({"network": "host"}, "egress=False"),
        ({"network": "none"}, "egress=False"),
        ({"network": "container:other"}, "egress=False"),
        ({"network": "mine", "egress": False}, "leave network= out"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_its_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        DockerOptions(**options)
    assert named in caught.value.message


def test_values_that_can_be_are_taken() -> None:
    options = {
        "memory": "512M",
        "gpus": 2,
        "platform": "linux/arm64/v8",
        "container_name": "my.container-1",
        "user": "1000:1000",
        "volumes": {"/data": "/levels:rw"},
        "tmpfs": {"/cache": ""},
        "labels": {"team": "rl"},
        "command": ["python3", "-m", "server"],
    }
    read = read_options(ServerRequest(provider="docker", image="x", options=tuple(options.items())), DockerOptions)
    assert read == DockerOptions(**options)  # type: ignore[arg-type]


def test_root_is_welcome_where_nothing_is_hardened() -> None:
    assert DockerOptions(user="root", hardening="compat").user == "root"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("100", 100), ("2b", 2), ("1k", 1 << 10), ("512m", 512 << 20), ("2G", 2 << 30)],
)
def test_a_size_is_read_with_its_unit(text: str, expected: int) -> None:
    assert size_in_bytes("memory", text) == expected


def test_a_volume_is_read_only_unless_it_says_otherwise() -> None:
    assert volume_place("/levels") == ("/levels", True)
    assert volume_place("/levels:ro") == ("/levels", True)
    assert volume_place("/levels:rw") == ("/levels", False)


@pytest.mark.parametrize(
    ("user", "expected"), [("root", True), ("0", True), ("0:5", True), ("app", False), ("1000", False)]
)
def test_root_is_known_by_name_and_number(user: str, *, expected: bool) -> None:
    assert is_root(user) is expected


@pytest.mark.parametrize(
    "folder", ["/var/run/docker.sock", "/run/docker.sock", "/var/run", "/run", "/run/containerd", "/", "/var/../run"]
)
def test_the_engines_socket_is_given_to_no_container(folder: str) -> None:
    with pytest.raises(ConfigurationError, match="socket"):
        refuse_engine_sockets([folder], HERE)


def test_nor_is_a_socket_elsewhere_also_not_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "engine")
    for folder in ("engine", "link"):
        with pytest.raises(ConfigurationError, match=folder):
            refuse_engine_sockets([str(tmp_path / folder)], f"unix://{tmp_path}/engine/docker.sock")


def test_other_folders_are_no_danger(tmp_path: Path) -> None:
    refuse_engine_sockets(["/var/lib/levels", str(tmp_path)], HERE)
