from __future__ import annotations

import inspect

import pytest
from openenv_gym_server import TaskProvider
from openenv_gym_server.routes import tasks as routes

from openenv_gym.client import EnvClient, SyncEnvClient
from tests.support.apps.tasks import Sums

METHODS = {name: method for name, method in vars(TaskProvider).items() if not name.startswith("_")}


def test_an_environment_with_tasks_need_not_derive_from_anything() -> None:
    provider: TaskProvider = Sums()  # the type checker's part of the test
    assert provider.num_tasks("train") == 5
    assert TaskProvider not in Sums.__mro__


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("client", [EnvClient, SyncEnvClient])
def test_every_method_has_a_route_and_a_call_of_the_same_form(name: str, client: type) -> None:
    assert f'"{name}"' in inspect.getsource(routes)
    call = inspect.signature(getattr(client, name))
    assert str(call.replace(return_annotation="")) == str(
        inspect.signature(METHODS[name]).replace(return_annotation="")
    )
