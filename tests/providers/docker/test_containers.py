from __future__ import annotations

from typing import Any

import pytest

from openenv_gym.providers.docker.containers import reached_at

HERE = "unix:///var/run/docker.sock"


def published(host: str, port: str = "32768") -> dict[str, Any]:
    """What an engine says of a container whose port 8000 is published."""
    return {
        "Ports": {"8000/tcp": [{"HostIp": host, "HostPort": port}]},
        "Networks": {"bridge": {"IPAddress": "172.17.0.2"}},
    }


@pytest.mark.parametrize(
    ("network", "engine", "expected"),
    [
        (published("127.0.0.1"), HERE, "http://127.0.0.1:32768"),
        (published("0.0.0.0"), HERE, "http://127.0.0.1:32768"),
        (published("::1"), HERE, "http://[::1]:32768"),
        (published("10.1.2.3"), "tcp://gpu-box:2376", "http://10.1.2.3:32768"),
        (published("0.0.0.0"), "ssh://me@gpu-box", "http://gpu-box:32768"),
        ({"Ports": {"8000/tcp": None}, "Networks": {"n": {"IPAddress": "172.18.0.2"}}}, HERE, "http://172.18.0.2:8000"),
        ({"Ports": {}, "Networks": {"n": {"IPAddress": ""}}}, HERE, None),
        ({}, HERE, None),
    ],
)
def test_a_server_is_reached_at_its_published_port_or_at_its_containers_own_address(
    network: dict[str, Any], engine: str, expected: str | None
) -> None:
    assert reached_at(network, engine, 8000) == expected
