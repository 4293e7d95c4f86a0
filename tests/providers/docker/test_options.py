from __future__ import annotations

import math
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.docker.options import (
    DockerOptions,
    is_known_not_to_be_root,
    is_root,
    size_in_bytes,
    volume_place,
)
from openenv_gym.providers.options import read_options


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
        *(({"cpus": cpus}, "cpus must be from 0.01") for cpus in (math.nan, math.inf, 1e-12, 0.009)),
        *(({name: value}, name) for name in ("ttl", "start_timeout") for value in (math.nan, math.inf)),
        ({"start_timeout": 1e300}, "start_timeout"),
        ({"pids": 1 << 70}, "pids"),
        ({"gpus": 10**30}, "gpus"),
        ({"memory": "99999999999g"}, "memory"),
        ({"memory": "9" * 5000}, "memory"),
        ({"shm_size": "99999999999g"}, "shm_size"),
        ({"container_name": "a"}, "2 or more letters"),
        ({"labels": {"": "x"}}, "labels"),
        *(({"user": user}, "hardening='compat'") for user in ("00", "+0", "-0", "0_0", ":0", ":1000", "", " 0 ")),
        ({"tmpfs": {"/x": "exec,suid,dev"}}, "'exec' needs hardening='compat'"),
        ({"tmpfs": {"/x": "size=1m, DEV"}}, "needs hardening='compat'"),
        *(({"tmpfs": {folder: ""}}, folder) for folder in ("/sys", "/proc/x", "/dev", "/tmp/", "//tmp", "/a/./b")),
        ({"volumes": {"/data": "/proc"}}, "the kernel's own"),
        *(
            ({"bind_address": address}, "bind_address must be an IP address")
            for address in ("localhost", "foo", "1.2.3", "0.0.0.0 ", "", "10.0.0.2:80")
        ),
        ({"egress": False, "bind_address": "10.0.0.2"}, "leave bind_address= out"),
        ({"egress": False, "host_port": 9000}, "leave host_port= out"),
        ({"network": ""}, "network must not be empty"),
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
    assert DockerOptions(tmpfs={"/x": "exec"}, hardening="compat").tmpfs == {"/x": "exec"}


@pytest.mark.parametrize("network", ["hostile-net", "none-of-yours", "containers"])
def test_a_network_may_be_called_nearly_like_those_that_are_shared(network: str) -> None:
    assert DockerOptions(network=network).network == network


@pytest.mark.parametrize("address", ["0.0.0.0", "10.0.0.2", "::", "::1", "fd00::2"])
def test_a_server_is_published_at_an_address(address: str) -> None:
    assert DockerOptions(bind_address=address).bind_address == address


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
    ("user", "expected"),
    [
        ("root", True),
        ("0", True),
        ("0:5", True),
        ("00", True),
        (":5", True),
        ("", True),
        ("app", False),
        ("1000", False),
    ],
)
def test_root_is_known_by_name_and_number(user: str, *, expected: bool) -> None:
    assert is_root(user) is expected


@pytest.mark.parametrize(
    ("user", "expected"),
    [("1000", True), ("1000:0", True), ("app", False), ("", False), (":1000", False), ("00", False), ("-1", False)],
)
def test_only_a_number_is_known_not_to_be_root(user: str, *, expected: bool) -> None:
    assert is_known_not_to_be_root(user) is expected
