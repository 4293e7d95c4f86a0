"""Pages of listed origins read HTTP answers; no other page does."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.http import http_client
from tests.support.servers import RunningServer, running_server

LISTED = "https://trainer.example"
ORIGINS = f"{LISTED},https://*.lab.example,*"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    settings = {"OPENENV_GYM_ALLOWED_ORIGINS": ORIGINS, "OPENENV_GYM_TOKEN": "secret"}
    with running_server("tests.support.apps.misbehaving:app", env=settings) as server:
        yield server


def told(answer: httpx.Response) -> dict[str, str]:
    prefix = "access-control-"
    return {
        name.removeprefix(prefix): value for name, value in answer.headers.items() if name.lower().startswith(prefix)
    }


@pytest.mark.parametrize("origin", [LISTED, "https://a.lab.example", "HTTPS://Trainer.Example"])
def test_a_page_of_a_listed_origin_reads_answers_and_refusals(server: RunningServer, origin: str) -> None:
    with http_client(server, Origin=origin) as client:
        answer = client.post("/reset", headers={"X-OpenEnv-Token": "secret", "X-OpenEnv-Session": ""})
        refused = client.get("/schema")
    assert (answer.status_code, refused.status_code) == (200, 401)
    for each in (answer, refused):
        assert told(each)["allow-origin"] == origin
        assert "X-OpenEnv-Session" in told(each)["expose-headers"]
        assert "Origin" in each.headers["vary"]


def test_a_listed_page_asks_for_leave_without_the_token(server: RunningServer) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    with http_client(server, Origin=LISTED) as client:
        answer = client.options("/step", headers=asked)
    assert answer.status_code == 204
    assert told(answer)["allow-origin"] == LISTED
    assert "POST" in told(answer)["allow-methods"]
    assert "authorization" in told(answer)["allow-headers"].lower()
    assert "allow-credentials" not in told(answer)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "https://lab.example.evil.example", "http://trainer.example", "null"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_page_of_another_origin_reads_nothing_though_all_may_ask(
    server: RunningServer, origin: str, method: str
) -> None:
    headers = {"Origin": origin, "X-OpenEnv-Token": "secret", "Access-Control-Request-Method": "POST"}
    with http_client(server) as client:
        answer = client.request(method, "/metadata", headers=headers)
    assert told(answer) == {}
    assert "Origin" in answer.headers["vary"]
