from __future__ import annotations

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.transports.address import http_url, is_loopback, websocket_url


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("http://localhost:8000", "ws://localhost:8000/ws"),
        ("http://localhost:8000/", "ws://localhost:8000/ws"),
        ("https://owner-name.hf.space", "wss://owner-name.hf.space/ws"),
        ("ws://localhost:8000/ws", "ws://localhost:8000/ws"),
        ("ws://localhost:8000/ws/", "ws://localhost:8000/ws"),
        ("wss://host/prefix/", "wss://host/prefix/ws"),
        ("localhost:8000", "ws://localhost:8000/ws"),
        ("host.example/envs/echo", "ws://host.example/envs/echo/ws"),
        ("http://[::1]:8000", "ws://[::1]:8000/ws"),
        ("http://host/?session_id=a", "ws://host/ws?session_id=a"),
        ("HTTP://Host:80", "ws://Host:80/ws"),
        (" http://host ", "ws://host/ws"),
        ("http://host/news", "ws://host/news/ws"),
    ],
)
def test_the_sessions_of_a_server_are_at_ws_below_its_address(base_url: str, expected: str) -> None:
    assert websocket_url(base_url) == expected


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("ws://localhost:8000/ws", "http://localhost:8000/schema"),
        ("wss://host/prefix", "https://host/prefix/schema"),
        ("localhost:8000", "http://localhost:8000/schema"),
        ("https://host/?a=1", "https://host/schema?a=1"),
    ],
)
def test_http_routes_stand_beside_the_sessions(base_url: str, expected: str) -> None:
    assert http_url(base_url, "/schema") == expected


@pytest.mark.parametrize(
    ("base_url", "named"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("ftp://host", "'ftp'"),
        ("http://", "no host"),
        ("http://:8000", "no host"),
        ("http://my host", "no host"),
        ("http://host:port", "no address"),
        ("http://host:99999", "no address"),
        ("http://host/#top", "#top"),
        ("http://[::1", "no address"),
    ],
)
def test_what_is_no_address_is_refused_by_name(base_url: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        websocket_url(base_url)


@pytest.mark.parametrize("host", ["localhost", "localhost.", "env.localhost", "127.0.0.1", "127.1.2.3", "[::1]"])
def test_this_machine_is_loopback(host: str) -> None:
    assert is_loopback(f"ws://{host}:8000/ws")


@pytest.mark.parametrize("host", ["my-localhost.example", "127.0.0.1.example", "10.0.0.1", "[::2]", "host"])
def test_other_machines_are_not_loopback(host: str) -> None:
    assert not is_loopback(f"ws://{host}:8000/ws")
