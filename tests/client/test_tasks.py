"""The Task API through the clients, and tasks chosen at resets, against real servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import gymnasium
import httpx
import numpy as np
import pytest
from openenv_gym_protocol import errors

import openenv_gym  # noqa: F401  (registers the ids)
from openenv_gym.client import GenericEnvClient, SyncEnvClient
from tests.support.apps.tasks import TASKS
from tests.support.http import http_client
from tests.support.scripted_server import scripted_server
from tests.support.servers import RunningServer, running_server

Client = SyncEnvClient[Any, dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module", params=["plain", "awaiting"])
def server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    with running_server(f"tests.support.apps.tasks:{request.param}", env={"MAX_CONCURRENT_ENVS": "4"}) as running:
        yield running


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    made = GenericEnvClient(server.base_url).sync()
    yield made
    made.close()


def test_splits_are_told_with_their_types(client: Client) -> None:
    assert client.list_splits() == [
        {"name": "train", "type": "train"},
        {"name": "test", "type": "test"},
        {"name": "hard cases", "type": "validation", "tasks": 0},
    ]


def test_tasks_are_told_all_counted_one_by_one_and_in_ranges(client: Client) -> None:
    train = TASKS["train"]
    assert client.list_tasks("train") == train
    assert [client.num_tasks(split) for split in TASKS] == [5, 1, 0]
    assert [client.get_task("train", index) for index in (0, 3, -1)] == [train[0], train[3], train[-1]]
    for start, stop in ((None, None), (1, 3), (3, None), (None, -1), (9, 12)):
        assert client.get_task_range("train", start, stop) == train[start:stop]
    assert client.list_tasks("hard cases") == []


def test_a_task_that_is_not_there_is_the_callers_mistake(client: Client) -> None:
    with pytest.raises(errors.InvalidMessage, match="Invalid task index"):
        client.get_task("train", 99)
    with pytest.raises(errors.InvalidMessage, match="get_task"):
        client.get_task("train", "first")  # type: ignore[arg-type]


def test_a_split_that_is_not_there_is_what_the_environment_makes_of_it(client: Client) -> None:
    with pytest.raises(errors.ExecutionError, match="num_tasks: 'other'"):
        client.num_tasks("other")


def test_asking_needs_no_session_and_disturbs_none(server: RunningServer) -> None:
    clients = [GenericEnvClient(server.base_url).sync() for _ in range(4)]
    for index, client in enumerate(clients):
        client.reset(split="train", index=index)
    late = GenericEnvClient(server.base_url).sync()
    assert late.num_tasks("train") == 5  # where no fifth session would be
    for index, client in enumerate(clients):
        assert client.get_task("train", 4)["id"] == "train-4"
        assert client.step({"action": index + 1}).reward == 1.0
        client.close()


def test_coroutines_ask_at_the_same_time(server: RunningServer) -> None:
    async def ask() -> list[Any]:
        client = GenericEnvClient(server.base_url)
        return await asyncio.gather(*(client.get_task("train", index) for index in range(5)))

    assert asyncio.run(ask()) == TASKS["train"]


def test_a_reset_chooses_the_task(client: Client) -> None:
    assert client.reset(split="test", index=0).observation["left"] == 7
    assert client.reset(index=3).observation["left"] == 3
    assert client.reset().observation["left"] == 0
    with pytest.raises(errors.InvalidMessage) as caught:
        client.reset(split="other")
    assert caught.value.errors[0]["loc"] == ["split"]
    with pytest.raises(errors.UnknownOption, match="Did you mean 'index'"):
        client.reset(indx=1)
    with pytest.raises(errors.ExecutionError, match="list index out of range"):
        client.reset(split="test", index=3)


def test_a_reset_over_http_chooses_the_task(server: RunningServer) -> None:
    with http_client(server) as client:
        body = client.post("/reset", json={"split": "test", "index": 0}).json()
    assert (body["observation"]["left"], body["observation"]["right"]) == (7, 7)


@pytest.mark.parametrize("wire", ["standard", "vector"])
def test_gymnasium_chooses_the_task_when_it_makes_or_resets(server: RunningServer, wire: str) -> None:
    env = gymnasium.make("openenv/Remote-v0", base_url=server.base_url, wire=wire, split="train", index=2)
    assert env.reset()[0] == {"left": 2, "right": 1}
    assert env.reset(options={"split": "test", "index": 0})[0] == {"left": 7, "right": 7}
    assert env.step(14)[1:3] == (1.0, True)
    assert env.reset()[0] == {"left": 2, "right": 1}
    env.close()


@pytest.mark.parametrize("wire", ["standard", "vector"])
def test_lanes_are_given_a_task_at_a_reset(server: RunningServer, wire: str) -> None:
    envs = gymnasium.make_vec("openenv/Remote-v0", num_envs=2, base_url=server.base_url, wire=wire, index=4)
    np.testing.assert_array_equal(envs.reset()[0]["left"], [4, 4])
    np.testing.assert_array_equal(envs.reset(options={"split": "test", "index": 0})[0]["left"], [7, 7])
    envs.step(np.array([14, 14]))
    np.testing.assert_array_equal(envs.step(np.array([0, 0]))[0]["left"], [4, 4])  # autoreset: the lanes' own task
    envs.close()


def test_an_environment_without_tasks_says_so() -> None:
    with running_server("tests.support.apps.counting:app") as server:
        client = GenericEnvClient(server.base_url).sync()
        for ask in (client.list_splits, lambda: client.get_task("train", 0)):
            with pytest.raises(errors.NotOffered, match="is not supported for this environment"):
                ask()


def test_a_token_is_sent_with_the_question() -> None:
    with running_server("tests.support.apps.tasks:plain", env={"OPENENV_GYM_TOKEN": "secret"}) as server:
        assert GenericEnvClient(server.base_url, token="secret").sync().num_tasks("test") == 1
        with pytest.raises(errors.Unauthorized):
            GenericEnvClient(server.base_url).sync().num_tasks("test")


LISTED = {"/list_environments": (200, ["odd"])}


@pytest.mark.parametrize(
    ("routes", "kind"),
    [
        ({}, errors.NotOffered),
        ({"/list_environments": (200, [])}, errors.UnexpectedReply),
        ({"/list_environments": (200, {"a": 1})}, errors.UnexpectedReply),
        ({"/list_environments": (500, "oops")}, errors.UnexpectedReply),
        ({**LISTED, "/odd/splits": (200, "<html>")}, errors.UnexpectedReply),
        ({**LISTED, "/odd/splits": (200, {"a": 1})}, errors.UnexpectedReply),
        ({**LISTED, "/odd/splits": (404, {"detail": "unknown"})}, errors.UnexpectedReply),
        ({**LISTED, "/odd/splits": (500, "oops")}, errors.ExecutionError),
        ({**LISTED, "/odd/splits": (503, {"detail": "full"})}, errors.CapacityReached),
    ],
)
def test_an_odd_answer_has_its_error(routes: dict[str, Any], kind: type[errors.OpenEnvGymError]) -> None:
    with scripted_server(http=routes) as server, pytest.raises(errors.OpenEnvGymError) as caught:
        GenericEnvClient(server.base_url).sync().list_splits()
    assert type(caught.value) is kind


@pytest.mark.parametrize("answer", [[], {}, {"num_tasks": "many"}, {"task": 1}, 3])
def test_what_is_no_number_or_task_is_an_error(answer: Any) -> None:
    class Answering(GenericEnvClient):
        async def _ask_route(self, path: str, body: Any = None) -> tuple[int, Any]:
            return 200, ["odd"] if path == "/list_environments" else answer

    client = Answering("http://127.0.0.1:1").sync()
    with pytest.raises(errors.UnexpectedReply):
        client.num_tasks("train")
    if answer != {"task": 1}:
        with pytest.raises(errors.UnexpectedReply):
            client.get_task("train", 0)


def test_the_name_of_the_environment_may_be_any_text(server: RunningServer) -> None:
    with http_client(server) as client:
        assert client.get("/list_environments").json() == ["Sums of two"]
        assert client.get("/sums%20of%20two/splits").status_code == httpx.codes.OK
