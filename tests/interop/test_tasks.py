"""Our clients ask openenv's own server for tasks, and ours after the environment's import was changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openenv_gym_protocol import errors

from openenv_gym.client import GenericEnvClient, SyncEnvClient
from tests.interop.conftest import port
from tests.support.comparing import Compared
from tests.support.stock import PROGRAMS, StockEnvironment, serving

pytestmark = pytest.mark.interop

Client = SyncEnvClient[Any, dict[str, Any], dict[str, Any]]

ASKED: dict[str, Callable[[Client], Any]] = {
    "splits": lambda client: client.list_splits(),
    "tasks": lambda client: client.list_tasks("train"),
    "number": lambda client: client.num_tasks("test"),
    "first": lambda client: client.get_task("train", 0),
    "last": lambda client: client.get_task("train", -1),
    "range": lambda client: client.get_task_range("train", 1, 3),
    "half": lambda client: client.get_task_range("train", 2),
    "beyond": lambda client: client.get_task_range("test", 5, 9),
    "no such index": lambda client: client.get_task("test", 5),
    "no index": lambda client: client.get_task("test", "x"),  # type: ignore[arg-type]
    "no such split": lambda client: client.num_tasks("other"),
}


@pytest.fixture(scope="module")
def servers(stock: StockEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The base URLs under openenv, and of the ported environment under this project."""
    folder = tmp_path_factory.mktemp("ported")
    port(PROGRAMS / "tasks.py", folder / "tasks.py")
    name = "tasks:tasks_app"
    with serving(stock.python, [name]) as theirs, serving(sys.executable, [name], cwd=folder) as ours:
        yield theirs[name], ours[name]


def told(url: str, ask: Callable[[Client], Any]) -> Any:
    """The answer, or the class of the error."""
    client = GenericEnvClient(url).sync()
    try:
        return ask(client)
    except errors.OpenEnvGymError as error:
        return type(error)
    finally:
        client.close()


@pytest.mark.parametrize("question", ASKED)
def test_a_question_has_the_same_answer(question: str, servers: tuple[str, str], compared: Compared) -> None:
    theirs, ours = (told(url, ASKED[question]) for url in servers)
    assert ours == theirs
    assert isinstance(ours, type) == question.startswith("no ")
    compared.add(1)


def test_the_task_of_an_episode_is_chosen_at_the_reset(servers: tuple[str, str], compared: Compared) -> None:
    played = []
    for url in servers:
        with GenericEnvClient(url).sync() as client:
            first = client.reset(split="test", index=0)
            played.append((first.observation["task"], client.step({"number": 9}).reward))
            played.append((client.reset().observation["task"], client.step({"number": 9}).reward))
    assert played == [("e0", 1.0), ("t0", 0.0)] * 2
    compared.add(4)
