from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from openenv_gym_server.capacity import Capacity
from openenv_gym_server.config import ServerConfig
from openenv_gym_server.contract import Contract
from openenv_gym_server.counters import Counters
from openenv_gym_server.definition import define
from openenv_gym_server.homes import Homes
from openenv_gym_server.session import Session
from openenv_gym_server.workers.asynchronous import AsyncWorker
from openenv_gym_server.workers.inline import InlineWorker
from openenv_gym_server.workers.thread import ThreadWorker

from tests.support.apps.counting import CountAction, CountingEnvironment, CountObservation


def settled(homes: Homes) -> Session:
    contract = Contract(define(CountingEnvironment, CountAction, CountObservation), ServerConfig())
    session = Session(contract, capacity=Capacity(1), socket=True, now=0)
    homes.settle(session)
    return session


def with_homes(scene: Callable[[Homes], Awaitable[None]], **traits: Any) -> None:
    async def run() -> None:
        definition = define(CountingEnvironment, CountAction, CountObservation)
        homes = Homes(replace(definition.traits, **traits), Counters())
        await scene(homes)
        homes.end()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("traits", "worker", "shared"),
    [
        ({"execution": "thread"}, ThreadWorker, False),
        ({"execution": "thread", "single_thread": True}, ThreadWorker, True),
        ({"execution": "inline"}, InlineWorker, False),
        ({"execution": "async"}, AsyncWorker, True),
    ],
)
def test_a_session_runs_where_its_environment_says(traits: dict[str, Any], worker: type, shared: bool) -> None:
    async def scene(homes: Homes) -> None:
        one, two = settled(homes), settled(homes)
        assert isinstance(one.worker, worker)
        assert (one.home is not None) is shared
        assert one.home is two.home

    with_homes(scene, **traits)


@pytest.mark.parametrize("traits", [{"single_thread": True}, {"execution": "async"}])
def test_a_home_that_is_stuck_is_replaced(traits: dict[str, Any]) -> None:
    async def scene(homes: Homes) -> None:
        one = settled(homes)
        homes.forget(one.home)
        assert settled(homes).home is not one.home

    with_homes(scene, **traits)
