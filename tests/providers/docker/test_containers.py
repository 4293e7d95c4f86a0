from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers.docker.containers import reached_at, refuse_other_addresses

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


@pytest.mark.parametrize(
    ("host", "asked"), [("0.0.0.0", "127.0.0.1"), ("", "127.0.0.1"), ("::", "0.0.0.0"), ("10.1.2.4", "10.1.2.3")]
)
def test_an_engine_that_publishes_elsewhere_than_it_was_told_to_is_found_out(host: str, asked: str) -> None:
    with pytest.raises(ProviderError, match=f"not at {asked}"):
        refuse_other_addresses(published(host), asked)


def test_what_is_published_as_asked_or_not_at_all_is_let_pass() -> None:
    refuse_other_addresses(published("127.0.0.1"), "127.0.0.1")
    refuse_other_addresses(published("::1"), "0:0:0:0:0:0:0:1")
    refuse_other_addresses({"Ports": {"8000/tcp": None}}, "127.0.0.1")
    refuse_other_addresses({}, "127.0.0.1")
