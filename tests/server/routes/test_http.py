from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.http import http_client
from tests.support.servers import running_server

SESSION = "X-OpenEnv-Session"


@pytest.fixture(scope="module")
def counting() -> Iterator[httpx.Client]:
    with running_server("tests.support.apps.counting:app") as server, http_client(server) as client:
        yield client


@pytest.fixture(scope="module")
def misbehaving() -> Iterator[httpx.Client]:
    with running_server("tests.support.apps.misbehaving:app") as server, http_client(server) as client:
        yield client


@pytest.fixture
def session(misbehaving: httpx.Client) -> dict[str, str]:
    """The header of a session that has been reset."""
    response = misbehaving.post("/reset", json={"episode_id": "mine"}, headers={SESSION: ""})
    return {SESSION: response.headers[SESSION]}


def test_without_a_session_every_call_has_a_fresh_environment(counting: httpx.Client) -> None:
    response = counting.post("/reset", json={"seed": 42, "start": 7, "unknown": 1})
    assert response.status_code == 200
    assert response.json() == {
        "observation": {"metadata": {}, "count": 7, "seed": 42},
        "reward": None,
        "done": False,
        "metadata": None,
    }
    assert SESSION not in response.headers
    assert counting.post("/step", json={"action": {"add": 2}}).json()["observation"]["count"] == 2
    assert counting.get("/state").json()["step_count"] == 0


def test_a_reset_needs_no_body(counting: httpx.Client) -> None:
    assert counting.post("/reset").json()["observation"]["count"] == 0


def test_a_session_holds_its_environment_between_calls(counting: httpx.Client) -> None:
    opened = counting.post("/reset", json={"episode_id": "e"}, headers={SESSION: ""})
    mine = {SESSION: opened.headers[SESSION]}
    for count in (1, 2, 3):
        assert counting.post("/step", json={"action": {}}, headers=mine).json()["observation"]["count"] == count
    assert counting.get("/state", headers=mine).json() == {"episode_id": "e", "step_count": 3, "count": 3, "length": 10}
    assert counting.post("/reset", headers=mine).headers[SESSION] == mine[SESSION]
    assert counting.get("/state", headers=mine).json()["step_count"] == 0


def test_calls_of_one_session_are_made_one_after_another(counting: httpx.Client) -> None:
    mine = {SESSION: counting.post("/reset", json={"length": 100}, headers={SESSION: ""}).headers[SESSION]}
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: counting.post("/step", json={"action": {}}, headers=mine).json(), range(40)))
    assert sorted(reply["observation"]["count"] for reply in replies) == list(range(1, 41))


def test_a_closed_session_is_gone(counting: httpx.Client) -> None:
    mine = {SESSION: counting.post("/reset", headers={SESSION: ""}).headers[SESSION]}
    assert counting.post("/close", headers=mine).status_code == 204
    assert counting.get("/state", headers=mine).status_code == 404
    assert counting.post("/close", headers=mine).status_code == 404


@pytest.mark.parametrize("headers", [{SESSION: "nope"}])
def test_an_unknown_session_is_an_error_and_never_a_fresh_environment(
    counting: httpx.Client, headers: dict[str, str]
) -> None:
    for response in (
        counting.post("/reset", headers=headers),
        counting.post("/step", json={"action": {}}, headers=headers),
        counting.get("/state", headers=headers),
    ):
        assert response.status_code == 404
        assert "detail" in response.json()


def test_an_empty_session_opens_one_at_reset_only(counting: httpx.Client) -> None:
    assert counting.post("/step", json={"action": {}}, headers={SESSION: ""}).status_code == 400
    assert counting.get("/state", headers={SESSION: ""}).status_code == 400
    assert counting.post("/close").status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/reset", {"seed": -1}, ["body", "seed"]),
        ("/reset", {"seed": "abc"}, ["body", "seed"]),
        ("/reset", {"episode_id": "x" * 256}, ["body", "episode_id"]),
        ("/step", {"do": "answer"}, ["body", "action"]),
        ("/step", {"action": {}, "timeout_s": 0}, ["body", "timeout_s"]),
        ("/step", {"action": {"number": "x"}}, ["number"]),
        ("/step", {"action": {"text": "forbidden"}}, ["text"]),
        ("/step", {"action": {"unknown": 1}}, ["unknown"]),
    ],
)
def test_wrong_values_are_unprocessable_and_named(
    misbehaving: httpx.Client, path: str, body: dict[str, object], place: list[str]
) -> None:
    response = misbehaving.post(path, json=body)
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == place


@pytest.mark.parametrize(
    "body",
    [
        b"{bad",
        b"[1]",
        b'"x"',
        b"\xff\xfe",
        b'{"action":{"text":"\\ud800"},"timeout_s":"\\ud800"}',
        b'{"action":NaN}',
        b"[" * 100_000,
    ],
)
def test_a_bad_body_is_refused_in_json(misbehaving: httpx.Client, body: bytes) -> None:
    response = misbehaving.post("/step", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in (400, 422)
    assert response.json()["detail"]


def test_a_failing_step_can_be_read_and_the_session_goes_on(misbehaving: httpx.Client, session: dict[str, str]) -> None:
    for command in ("raise", "exit", "nan_reward", "raise_surrogate", "object"):
        response = misbehaving.post("/step", json={"action": {"do": command}}, headers=session)
        assert (response.status_code, response.headers["content-type"]) == (500, "application/json")
        assert "[error " in response.json()["detail"]
    assert misbehaving.get("/state", headers=session).json()["episode_id"] == "mine"


def test_a_reset_that_fails_opens_no_session(misbehaving: httpx.Client) -> None:
    before = misbehaving.get("/ready").json()["active_sessions"]
    assert misbehaving.post("/reset", json={"fail": True}, headers={SESSION: ""}).status_code == 500
    end = time.monotonic() + 20
    while misbehaving.get("/ready").json()["active_sessions"] > before:
        assert time.monotonic() < end, "the session of a failed reset lives on"
        time.sleep(0.02)


def test_rewards_are_floats_and_metadata_is_always_there(misbehaving: httpx.Client, session: dict[str, str]) -> None:
    body = misbehaving.post("/step", json={"action": {"do": "metadata"}}, headers=session).json()
    assert body["metadata"] == body["observation"]["metadata"] == {"level": 3}


def test_a_step_past_its_own_deadline_times_out_and_ends_the_session(misbehaving: httpx.Client) -> None:
    mine = {SESSION: misbehaving.post("/reset", headers={SESSION: ""}).headers[SESSION]}
    body = {"action": {"do": "sleep", "seconds": 5}, "timeout_s": 1.5}
    assert misbehaving.post("/step", json=body, headers=mine).status_code == 504
    assert misbehaving.get("/state", headers=mine).status_code == 404


def test_a_full_server_is_unavailable_and_says_when_to_come_back() -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "0.1"}
    with running_server("tests.support.apps.counting:app", env=settings) as server, http_client(server) as client:
        client.post("/reset", headers={SESSION: ""}).raise_for_status()
        response = client.post("/reset", headers={SESSION: ""})
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")


def test_a_session_that_nobody_uses_expires() -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "20", "OPENENV_GYM_SESSION_IDLE_TTL": "0.2"}
    with running_server("tests.support.apps.counting:app", env=settings) as server, http_client(server) as client:
        mine = {SESSION: client.post("/reset", headers={SESSION: ""}).headers[SESSION]}
        client.post("/reset", headers={SESSION: ""}).raise_for_status()
        assert client.get("/state", headers=mine).status_code == 404


def test_a_body_above_the_limit_is_refused() -> None:
    settings = {"OPENENV_GYM_MAX_FRAME_BYTES": "1000"}
    with running_server("tests.support.apps.counting:app", env=settings) as server, http_client(server) as client:
        assert client.post("/reset", json={"episode_id": "x" * 2000}).status_code == 413
        assert client.post("/reset", json={"episode_id": "x" * 200}).status_code == 200


def test_production_has_no_control_routes() -> None:
    settings = {"OPENENV_MODE": "production"}
    with running_server("tests.support.apps.counting:app", env=settings) as server, http_client(server) as client:
        assert client.post("/reset").status_code == 404
        assert client.post("/step", json={"action": {}}).status_code == 404
        assert client.get("/state").status_code == 404
        assert client.get("/health").status_code == 200


def test_a_session_whose_client_left_before_it_knew_the_id_ends() -> None:
    with running_server("tests.support.apps.misbehaving:app") as server, http_client(server) as client:
        for _ in range(10):
            with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as leaving:
                leaving.sendall(f"POST /reset HTTP/1.1\r\nHost: x\r\n{SESSION}: \r\nContent-Length: 0\r\n\r\n".encode())
        end = time.monotonic() + 20
        while server.log().count("closed in") < 10:
            assert time.monotonic() < end, "a session nobody can use lives on"
            time.sleep(0.02)
        assert client.get("/ready").json()["active_sessions"] == 0
