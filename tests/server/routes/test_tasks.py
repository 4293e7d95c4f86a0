from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.http import http_client
from tests.support.servers import running_server


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with running_server("tests.support.apps.exclusive:app") as server, http_client(server) as client:
        yield client


def test_the_environment_is_listed(client: httpx.Client) -> None:
    assert client.get("/list_environments").json() == ["exclusive"]


def test_splits_are_named_and_typed(client: httpx.Client) -> None:
    assert client.get("/Exclusive/splits").json() == [
        {"name": "train", "type": "train"},
        {"name": "odd", "type": "validation", "extra": 1},
    ]


def test_tasks_are_told_by_plain_and_awaiting_methods(client: httpx.Client) -> None:
    assert client.post("/exclusive/task", json={"split": "train", "index": 1}).json() == {"task": {"id": "b"}}
    assert client.post("/exclusive/task", json={"split": "train", "index": -1}).json() == {"task": {"id": "b"}}
    assert client.post("/exclusive/num_tasks", json={"split": "train"}).json() == {"num_tasks": 2}


def test_what_the_environment_does_not_offer_is_not_implemented(client: httpx.Client) -> None:
    response = client.post("/exclusive/tasks", json={"split": "train"})
    assert (response.status_code, response.json()) == (
        501,
        {"detail": "list_tasks is not supported for this environment"},
    )


def test_a_task_that_is_not_there_is_a_bad_request(client: httpx.Client) -> None:
    response = client.post("/exclusive/task", json={"split": "train", "index": 9})
    assert (response.status_code, response.json()) == (400, {"detail": "Invalid task index"})


def test_another_name_is_not_found(client: httpx.Client) -> None:
    assert client.get("/other/splits").status_code == 404


@pytest.mark.parametrize("body", [{}, {"split": "train", "index": "x"}, {"split": "train", "index": 0, "more": 1}])
def test_wrong_bodies_are_unprocessable(client: httpx.Client, body: dict[str, object]) -> None:
    assert client.post("/exclusive/task", json=body).status_code == 422


def test_a_method_that_fails_is_a_server_error(client: httpx.Client) -> None:
    response = client.post("/exclusive/num_tasks", json={"split": "unknown"})
    assert response.status_code == 500
    assert "[error " in response.json()["detail"]
