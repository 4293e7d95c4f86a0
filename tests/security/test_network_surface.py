"""Attacks over the network, each by the name under which it became known."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from openenv_gym_protocol.vector.frames import SUBPROTOCOL
from websockets.exceptions import InvalidStatus

from tests.support.apps import tools
from tests.support.http import http_client
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.serving import serving
from tests.support.sockets import frame_socket

TOKEN = "a-secret-of-the-test"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
ROUTES = sorted({*tools.app.openapi()["paths"], "/metrics", "/mcp", "/ws", "/docs", "/openapi.json"} - {"/health"})
SOCKETS: list[tuple[str, dict[str, Any]]] = [("/ws", {}), ("/ws", {"subprotocols": [SUBPROTOCOL]}), ("/mcp", {})]
EVIL = "rebound.evil.example:8000"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.tools:app") as server:
        yield server


@pytest.fixture(scope="module")
def closed_server() -> Iterator[RunningServer]:
    with serving(app="tests.support.apps.tools:app", env={"OPENENV_GYM_TOKEN": TOKEN}) as server:
        yield server


def handshake(
    server: RunningServer, path: str, headers: dict[str, str], host: str | None = None, **options: Any
) -> int:
    """The status with which a server answers a WebSocket handshake, which names another host if told so."""
    address = urlsplit(server.base_url)
    url = f"ws://{address.netloc if host is None else host}{path}"
    try:
        with (
            socket.create_connection((address.hostname or "", address.port or 0)) as connection,
            frame_socket(url, sock=connection, additional_headers=headers, **options),
        ):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def sessions_of(server: RunningServer) -> int:
    with http_client(server) as client:
        found: int = client.get("/ready").json()["active_sessions"]
        return found


def test_shadowray_cve_2023_48022_a_public_address_without_a_token_does_not_start() -> None:
    command = [sys.executable, "-m", "openenv_gym_server", "tests.support.apps.counting:app", "--host", "0.0.0.0"]
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2
    assert "OPENENV_GYM_TOKEN" in refused.stderr


def test_shadowray_cve_2023_48022_the_default_address_is_this_machine(closed_server: RunningServer) -> None:
    assert closed_server.base_url.startswith("http://127.0.0.1:")


def test_control_without_authentication_every_route_and_method_asks_for_the_token(closed_server: RunningServer) -> None:
    assert {"/reset", "/step", "/state", "/schema", "/metrics", "/mcp", "/ready", "/docs"} <= set(ROUTES)
    with http_client(closed_server) as client:
        for path in ROUTES:
            for method in METHODS:
                assert client.request(method, path).status_code == 401, (method, path)


@pytest.mark.parametrize(("path", "options"), SOCKETS)
def test_control_without_authentication_no_socket_opens(
    closed_server: RunningServer, path: str, options: dict[str, Any]
) -> None:
    assert handshake(closed_server, path, {}, **options) == 403
    assert handshake(closed_server, path, {"Authorization": f"Bearer {TOKEN}"}, **options) == 101


def test_a_token_in_an_address_opens_nothing_and_one_in_a_header_is_in_no_log(closed_server: RunningServer) -> None:
    with http_client(closed_server) as client:
        assert client.get("/schema", params={"token": "guessed", "access_token": "guessed"}).status_code == 401
        assert client.get("/schema", headers={"X-OpenEnv-Token": TOKEN}).status_code == 200
        assert TOKEN not in client.get("/schema", headers={"X-OpenEnv-Token": TOKEN + "x"}).text
    assert "GET /schema" in closed_server.log()
    assert TOKEN not in closed_server.log()


def test_dns_rebinding_cve_2025_66416_no_route_and_method_answers_to_a_name_that_a_site_can_own(
    server: RunningServer,
) -> None:
    with http_client(server, host=EVIL, origin=f"http://{EVIL}") as client:
        for path in ROUTES:
            for method in METHODS:
                assert client.request(method, path).status_code == 421, (method, path)


def test_dns_rebinding_cve_2025_66416_a_read_without_an_origin_is_known_as_a_browsers(server: RunningServer) -> None:
    with http_client(server, host=EVIL, accept_language="en") as client:
        for path in ("/state", "/schema", "/metadata", "/metrics"):
            assert client.get(path).status_code == 421, path


@pytest.mark.parametrize(("path", "options"), SOCKETS)
def test_dns_rebinding_cve_2025_66416_no_socket_opens(
    server: RunningServer, path: str, options: dict[str, Any]
) -> None:
    assert handshake(server, path, {"Origin": f"http://{EVIL}"}, EVIL, **options) == 403


def test_ray_dashboard_cve_2026_27482_no_method_is_forgotten(server: RunningServer) -> None:
    with http_client(server, origin="https://evil.example") as client:
        for path in ROUTES:
            for method in METHODS:
                assert client.request(method, path).status_code == 403, (method, path)


@pytest.mark.parametrize(("path", "options"), SOCKETS)
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1", "file://"])
def test_cross_site_websocket_hijacking_cve_2019_13209_is_refused_before_anything_opens(
    server: RunningServer, path: str, options: dict[str, Any], origin: str
) -> None:
    assert handshake(server, path, {"Origin": origin}, **options) == 403
    assert sessions_of(server) == 0


def test_a_page_of_the_servers_own_is_let_in(server: RunningServer) -> None:
    own = {"Origin": server.base_url}
    assert [handshake(server, path, own, **options) for path, options in SOCKETS] == [101, 101, 101]
    with http_client(server, **own) as client:
        assert client.post("/reset", json={}).status_code == 200


@pytest.mark.parametrize(
    "name", ["environment:8000", "echo.rollouts", "echo.rollouts.svc.cluster.local", "a.trycloudflare.com", "[::1]:80"]
)
def test_the_regression_of_cve_2025_66416_programs_reach_a_server_by_any_name(server: RunningServer, name: str) -> None:
    assert [handshake(server, path, {}, name, **options) for path, options in SOCKETS] == [101, 101, 101]
    with http_client(server, host=name) as client:
        assert client.post("/reset", json={}).status_code == 200


@pytest.mark.parametrize("settings", [{"OPENENV_GYM_TOKEN": TOKEN}, {"SPACE_ID": "owner/name"}])
def test_the_regression_of_cve_2025_66416_a_protected_or_public_servers_own_page_works(
    settings: dict[str, str],
) -> None:
    host = "owner-name.hf.space"
    headers = {"Origin": f"https://{host}", "X-OpenEnv-Token": TOKEN}
    with running_server("tests.support.apps.counting:app", env=settings) as server:
        assert handshake(server, "/ws", headers, host) == 101
        assert handshake(server, "/ws", headers | {"Origin": "https://evil.example"}, host) == 403


def test_hosts_and_origins_can_be_listed() -> None:
    settings = {
        "OPENENV_GYM_ALLOWED_HOSTS": "env.example.org, *.lab.example.org",
        "OPENENV_GYM_ALLOWED_ORIGINS": "https://app.example.org",
    }
    with running_server("tests.support.apps.tools:app", env=settings) as server:
        for host, status in (("env.example.org", 101), ("a.lab.example.org:80", 101), ("other.example.org", 403)):
            assert handshake(server, "/ws", {}, host) == status
        page = {"Host": "env.example.org", "Origin": "https://app.example.org"}
        own = {"Origin": page["Origin"]}
        assert [handshake(server, path, own, page["Host"], **options) for path, options in SOCKETS] == [101, 101, 101]
        with http_client(server) as client:
            assert client.post("/reset", json={}, headers=page).status_code == 200
            assert client.post("/mcp", content=b"{}", headers=page).status_code == 200
            assert client.get("/health", headers={"Host": "10.0.0.7"}).status_code == 200
            assert client.get("/ready", headers={"Host": "10.0.0.7"}).status_code == 421
        assert "OPENENV_GYM_ALLOWED_HOSTS" in server.log()


@pytest.mark.parametrize("origin", ["https://evil.example", None, "own"])
def test_cross_origin_reads_no_answer_allows_a_page_of_another_site_to_read_it(
    server: RunningServer, origin: str | None
) -> None:
    named = server.base_url if origin == "own" else origin
    headers = {} if named is None else {"Origin": named, "Access-Control-Request-Method": "POST"}
    with http_client(server) as client:
        for path in (*ROUTES, "/health"):
            for method in ("GET", "POST", "OPTIONS"):
                answer = client.request(method, path, headers=headers)
                assert not [name for name in answer.headers if name.startswith("access-control-")], (method, path)


def test_two_hosts_in_one_request_are_refused(server: RunningServer) -> None:
    assert handshake(server, "/ws", {"Host": EVIL}) == 403  # besides the client's own
