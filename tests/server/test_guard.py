from __future__ import annotations

from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus

from tests.support.http import http_client
from tests.support.servers import RunningServer, running_server
from tests.support.sockets import frame_socket

TOKEN = "a-secret-of-the-test"
ADMITTED = [{"Authorization": f"Bearer {TOKEN}"}, {"authorization": f"bearer {TOKEN}"}, {"X-OpenEnv-Token": TOKEN}]
REFUSED = [
    {},
    {"Authorization": "Bearer wrong"},
    {"Authorization": TOKEN},
    {"Authorization": "Bearer"},
    {"X-OpenEnv-Token": TOKEN + "x"},
    {"X-OpenEnv-Token": ""},
]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    env = {"OPENENV_GYM_TOKEN": TOKEN}
    with running_server("tests.support.apps.counting:app", env=env) as server:
        yield server


@pytest.mark.parametrize("headers", ADMITTED)
def test_the_token_opens_http_and_the_socket(server: RunningServer, headers: dict[str, str]) -> None:
    with http_client(server) as client:
        assert client.post("/reset", headers=headers).status_code == 200
    with frame_socket(server.ws_url, additional_headers=headers) as socket:
        assert socket.reset()["done"] is False


def test_a_proxys_own_authorization_is_no_obstacle(server: RunningServer) -> None:
    headers = {"Authorization": "Bearer hf_of_the_proxy", "X-OpenEnv-Token": TOKEN}
    with http_client(server) as client:
        assert client.get("/schema", headers=headers).status_code == 200


@pytest.mark.parametrize("headers", REFUSED)
def test_without_it_everything_but_health_is_closed(server: RunningServer, headers: dict[str, str]) -> None:
    with http_client(server) as client:
        assert client.get("/health", headers=headers).status_code == 200
        for path in ("/ready", "/schema", "/metadata", "/state", "/docs", "/openapi.json", "/list_environments", "/no"):
            assert client.get(path, headers=headers).status_code == 401, path
        for path in ("/reset", "/step", "/health/"):
            assert client.post(path, headers=headers).status_code == 401, path


@pytest.mark.parametrize("headers", REFUSED)
def test_without_it_the_socket_is_refused_before_it_opens(server: RunningServer, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidStatus) as caught, frame_socket(server.ws_url, additional_headers=headers):
        pass
    assert caught.value.response.status_code in (401, 403)


def test_the_token_is_in_no_log(server: RunningServer) -> None:
    assert TOKEN not in server.log()


@pytest.mark.parametrize("path", ["/health", "/schema", "/no"])
def test_every_answer_has_the_id_of_its_request(server: RunningServer, path: str) -> None:
    with http_client(server) as client:
        assert client.get(path, headers={"X-Request-ID": "rollout-7"}).headers["x-request-id"] == "rollout-7"
        assert client.get(path).headers["x-request-id"] != client.get(path).headers["x-request-id"]
